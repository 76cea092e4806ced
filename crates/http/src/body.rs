//! Reading the body of a request, and writing an answer while it is made.

use crate::failure::{JSON, Refused};
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use http_body::Frame;
use serde::de::DeserializeOwned;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// The longest request. Input for a job comes in pieces of any length, and everything else is short.
pub const MAX_BODY: usize = 16 * 1024 * 1024;

/// How many pieces of an answer may wait to be sent. Whoever makes them waits then.
const PIECES: usize = 4;

/// Reads the request that a body contains. An empty body is an empty request.
pub async fn read<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, Refused> {
    let bytes = bytes(body).await?;
    if bytes.is_empty() {
        return parse(b"{}");
    }
    // A form of a web page cannot say this.
    let kind = headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    if !kind.is_some_and(|kind| kind.starts_with(JSON.as_bytes())) {
        let refused =
            Refused::bad_input("the body must be JSON, with Content-Type: application/json");
        return Err(refused.with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    parse(&bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    let parsed = serde_json::from_slice(bytes);
    parsed.map_err(|error| Refused::bad_input(format!("the request cannot be used: {error}")))
}

async fn bytes(mut body: Body) -> Result<Vec<u8>, Refused> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| {
            Refused::bad_input(format!("the request could not be read: {error}"))
        })?;
        if let Ok(part) = frame.into_data() {
            bytes.extend_from_slice(&part);
        }
        if bytes.len() > MAX_BODY {
            let refused =
                Refused::bad_input(format!("the request is longer than {MAX_BODY} bytes"));
            return Err(refused.with_status(StatusCode::PAYLOAD_TOO_LARGE));
        }
    }
    Ok(bytes)
}

/// The other end of a body that is written while it is sent.
#[derive(Clone, Debug)]
pub struct Writer(mpsc::Sender<io::Result<Bytes>>);

/// Whoever reads the answer has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl Writer {
    /// Hands over a piece, on a thread that may block. Waits while the reader is slow.
    pub fn write(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.0.blocking_send(Ok(piece.into())).map_err(|_| Gone)
    }

    /// Breaks the answer off, so that nobody takes it for a whole one.
    pub fn cut(&self) {
        let _ = self
            .0
            .blocking_send(Err(io::ErrorKind::UnexpectedEof.into()));
    }

    /// Waits until nobody reads any more.
    pub async fn gone(&self) {
        self.0.closed().await;
    }
}

/// A body, and what writes to it. The body ends when every copy of the writer is dropped.
pub fn streamed() -> (Writer, Body) {
    let (sender, receiver) = mpsc::channel(PIECES);
    (Writer(sender), Body::new(Streamed(receiver)))
}

/// The same for a task, which must not block.
#[derive(Clone, Debug)]
pub struct AsyncWriter(mpsc::Sender<io::Result<Bytes>>);

impl AsyncWriter {
    /// Hands over a piece. Waits while the reader is slow.
    pub async fn write(&self, piece: impl Into<Bytes>) -> Result<(), Gone> {
        self.0.send(Ok(piece.into())).await.map_err(|_| Gone)
    }

    /// Breaks the answer off.
    pub async fn cut(&self) {
        let _ = self.0.send(Err(io::ErrorKind::UnexpectedEof.into())).await;
    }

    /// Waits until nobody reads any more.
    pub async fn gone(&self) {
        self.0.closed().await;
    }
}

/// A body, and what a task writes to it.
pub fn piped() -> (AsyncWriter, Body) {
    let (Writer(sender), body) = streamed();
    (AsyncWriter(sender), body)
}

struct Streamed(mpsc::Receiver<io::Result<Bytes>>);

impl HttpBody for Streamed {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = self.0.poll_recv(context);
        next.map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
