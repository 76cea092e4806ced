//! Proves to a receiver that a post is ours and fresh: HMAC-SHA256 of `<timestamp>.<body>`.
//!
//! The signature covers the timestamp, so that an old post cannot be replayed as a new one.

use ring::hmac;

/// `sha256=<hex>`
pub fn sign(secret: &[u8], timestamp: u64, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, secret));
    context.update(timestamp.to_string().as_bytes());
    context.update(b".");
    context.update(body);
    format!("sha256={}", hex(context.sign().as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `printf '1700000000.{"event":"j:1","text":"hi"}' | openssl dgst -sha256 -hmac
    /// key`.
    #[test]
    fn the_signature_equals_that_of_openssl() {
        assert_eq!(
            sign(b"key", 1_700_000_000, br#"{"event":"j:1","text":"hi"}"#),
            "sha256=6811eeaef0fe037d247a7438a675acec79ed10fbb3706dd1a602b78ce741c40c"
        );
    }

    /// RFC 4231, case 2, which tests HMAC-SHA256 itself.
    #[test]
    fn the_algorithm_is_hmac_sha256() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"Jefe");
        let tag = hmac::sign(&key, b"what do ya want for nothing?");
        assert_eq!(
            hex(tag.as_ref()),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
