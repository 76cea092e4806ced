//! Serving over standard input and output.
//!
//! Hosts forget their servers: when the input ends, so does the server. Nothing but the protocol is
//! written to the output. What is no JSON is answered as such; the transport would pass it over.

use crate::delivery::{Deliveries, Garbage, Noting};
use crate::server::{Options, Server};
use outlive::Outlive;
use rmcp::model::RequestId;
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use serde::Deserialize;
use serde_json::Value;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What is read at once, as a pipe gives it.
const PIPE: usize = 64 * 1024;

/// Serves until the input ends.
pub fn serve(outlive: Outlive, options: Options) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve_stdio(outlive, options));
    // Threads that still wait for a job, or read an input that nobody ends, are not waited for.
    runtime.shutdown_background();
    served
}

async fn serve_stdio(outlive: Outlive, options: Options) -> io::Result<()> {
    let deliveries = Deliveries::default();
    let closed = CancellationToken::new();
    let server = Server::new(outlive, options, deliveries.clone(), closed.clone())
        .map_err(io::Error::other)?;
    let (input, output) = rmcp::transport::stdio();
    let (sieved, to) = tokio::io::duplex(PIPE);
    let (garbled, garbage) = mpsc::channel(1);
    tokio::spawn(sieve(input, to, garbled));
    let transport = Noting {
        inner: AsyncRwTransport::new(sieved, output),
        garbage,
        deliveries,
        closed,
    };
    match server.serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // It had nothing to ask.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Passes lines on, but for those that are no JSON: of each of these it only says that it came. Lines that
/// are too long, and one that is cut off by the end, are for the transport to judge.
async fn sieve(
    input: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    garbled: mpsc::Sender<Garbage>,
) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let mut is_whole = true;
    loop {
        line.clear();
        let most = DEFAULT_MAX_LINE_LENGTH as u64 + 1;
        let mut part = (&mut input).take(most);
        if part.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        let begins = is_whole;
        is_whole = line.ends_with(b"\n");
        if let Some(garbage) = garbage(&line).filter(|_| begins && is_whole) {
            // Nobody hears it once the server ends.
            let _ = garbled.send(garbage).await;
            continue;
        }
        to.write_all(&line).await?;
    }
}

/// Of a line that is no JSON: the id of the request, where that much can be read. A string with half of a
/// surrogate pair in it, or with bytes that are no UTF-8, spoils the request and not its id.
fn garbage(line: &[u8]) -> Option<Garbage> {
    #[derive(Deserialize)]
    struct Header {
        id: RequestId,
    }
    if line.trim_ascii().is_empty() || serde_json::from_slice::<Value>(line).is_ok() {
        return None;
    }
    let header = serde_json::from_slice::<Header>(line).ok();
    Some(Garbage {
        id: header.map(|header| header.id),
    })
}
