//! Serves over standard input and output.
//!
//! Hosts forget to stop their servers, so the server ends when its input ends. Only protocol messages
//! are written to the output. A line that is not JSON gets an error reply; the transport would ignore
//! it.

use crate::delivery::{Deliveries, Garbage, Noting, Reader};
use crate::server::{Options, Server};
use outlive::{Outlive, agent};
use rmcp::model::RequestId;
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use serde::Deserialize;
use serde_json::Value;
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The size of one read from a pipe.
const PIPE: usize = 64 * 1024;

/// Serves until the input ends.
pub fn serve(outlive: Outlive, options: Options) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve_stdio(outlive, options));
    // Do not wait for threads that still wait for a job or for input.
    runtime.shutdown_background();
    served
}

async fn serve_stdio(outlive: Outlive, options: Options) -> io::Result<()> {
    let deliveries = Deliveries::default();
    let closed = CancellationToken::new();
    let agent = agent::of_caller().map_err(io::Error::other)?;
    let server = Server::new(outlive, options, deliveries.clone(), closed.clone(), agent)
        .map_err(io::Error::other)?;
    let (input, output) = rmcp::transport::stdio();
    let (sieved, to) = tokio::io::duplex(PIPE);
    let (garbled, garbage) = mpsc::channel(1);
    tokio::spawn(sieve(input, to, garbled));
    let transport = Noting {
        inner: AsyncRwTransport::new(sieved, output),
        garbage,
        deliveries: deliveries.clone(),
        reader: Reader { agent, closed },
    };
    match server.serve(transport).await {
        Ok(running) => {
            let ended = running.waiting().await.map(drop).map_err(io::Error::other);
            deliveries.settled().await;
            ended
        }
        // The client closed the input without a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Passes lines on, except those that are not JSON, which it only reports. The transport decides about
/// lines that are too long, and about a last line without an end.
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
            // Once the server ends, nobody reads this.
            let _ = garbled.send(garbage).await;
            continue;
        }
        to.write_all(&line).await?;
    }
}

/// For a line that is not JSON: the id of the request, if it can be read. Half of a surrogate pair, or
/// invalid UTF-8, makes the request invalid but not its id.
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
