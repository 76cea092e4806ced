//! The message that a request carries, and the answer to what is none.

use crate::malformed::{self, MAX_MESSAGE, Malformed, TooLong};
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use std::future::poll_fn;
use std::pin::Pin;

const JSON: &str = "application/json";

/// Reads a body, or says why it cannot be served.
pub async fn read(mut body: Body) -> Result<Bytes, Response> {
    let mut message = Vec::new();
    let mut too_long: Option<TooLong> = None;
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| {
            let text = format!("the request could not be read: {error}\n");
            (StatusCode::BAD_REQUEST, text).into_response()
        })?;
        let Ok(part) = frame.into_data() else {
            continue;
        };
        match &too_long {
            // The rest is read although it is not used: a client may not read the answer before it has sent all.
            Some(too_long) => too_long.push(&part).await,
            None => {
                message.extend_from_slice(&part);
                if message.len() > MAX_MESSAGE {
                    too_long = Some(TooLong::begin(std::mem::take(&mut message)));
                }
            }
        }
    }
    match too_long {
        Some(too_long) => Err(refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            &too_long.end().await,
        )),
        None => Ok(message.into()),
    }
}

/// The answer if the library refused a message that it could not read. It says "unsupported media type", as if this
/// were not JSON.
pub fn if_malformed(status: StatusCode, headers: &HeaderMap, message: &[u8]) -> Option<Response> {
    let is_json = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()));
    if status != StatusCode::UNSUPPORTED_MEDIA_TYPE || !is_json {
        return None;
    }
    Some(match malformed::read(message) {
        Ok(_) => StatusCode::ACCEPTED.into_response(),
        Err(malformed) => refusal(StatusCode::BAD_REQUEST, &malformed),
    })
}

fn refusal(status: StatusCode, malformed: &Malformed) -> Response {
    let kind = [(CONTENT_TYPE, JSON)];
    (status, kind, malformed.reply().to_string()).into_response()
}
