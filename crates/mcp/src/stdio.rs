//! Serves over standard input and output.
//!
//! Hosts forget to stop their servers, so the server ends when its input ends. Only protocol messages
//! are written to the output.

mod lines;

use crate::delivery::{Deliveries, Noting, Reader};
use crate::server::{Options, Server};
use lines::Lines;
use outlive::{Outlive, agent};
use rmcp::service::{ServerInitializeError, ServiceExt};
use std::io;
use tokio_util::sync::CancellationToken;

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
    let transport = Noting {
        inner: Lines::new(input, output),
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
