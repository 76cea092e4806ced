//! The handshake: the request of a client that wants a WebSocket, and the answer.

use crate::failure::Refused;
use axum::body::Body;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use sha1::{Digest, Sha1};

/// What every server appends to the key of a client.
const SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The answer to a request for a WebSocket, and the connection as soon as the answer is sent.
pub fn accept(request: &mut Parts) -> Result<(Response, OnUpgrade), Refused> {
    let headers = &request.headers;
    let is_asked =
        has_word(headers, UPGRADE, "websocket") && has_word(headers, CONNECTION, "upgrade");
    let version = headers
        .get(SEC_WEBSOCKET_VERSION)
        .map(|version| version.as_bytes());
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .map(|key| key.as_bytes().to_vec());
    let (true, Some(b"13"), Some(key)) = (is_asked, version, key) else {
        let refused = Refused::bad_input("this address is for WebSockets of version 13");
        return Err(refused.with_status(StatusCode::UPGRADE_REQUIRED));
    };
    let upgrade = request.extensions.remove::<OnUpgrade>();
    let upgrade =
        upgrade.ok_or_else(|| Refused::bad_input("this connection cannot be upgraded"))?;
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, proof(&key))
        .body(Body::empty());
    let response = response.map_err(|error| Refused::bad_input(error.to_string()))?;
    Ok((response, upgrade))
}

/// Whether one of the words of a header is this one.
fn has_word(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let mut words = values.flat_map(|value| value.split(','));
    words.any(|found| found.trim().eq_ignore_ascii_case(word))
}

/// Shows the client that its key was read.
fn proof(key: &[u8]) -> String {
    let mut digest = Sha1::new();
    digest.update(key);
    digest.update(SUFFIX.as_bytes());
    base64(&digest.finalize())
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| {
            (number << 8) | u32::from(part.get(at).copied().unwrap_or(0))
        });
        for digit in 0..4 {
            let value = (number >> (18 - 6 * digit)) & 63;
            text.push(match digit <= part.len() {
                true => char::from(DIGITS[value as usize]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_is_that_of_the_standard() {
        assert_eq!(
            proof(b"dGhlIHNhbXBsZSBub25jZQ=="),
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        let of = |text: &str| base64(text.as_bytes());
        assert_eq!(
            [of(""), of("f"), of("fo"), of("foo"), of("foob")],
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }
}
