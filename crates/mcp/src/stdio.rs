//! Serving over standard input and output.
//!
//! Hosts forget their servers: when the input ends, so does the server. Nothing but the protocol is
//! written to the output.

use crate::delivery::{Deliveries, Noting};
use crate::server::{Options, Server};
use outlive::Outlive;
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::async_rw::AsyncRwTransport;
use std::io;
use tokio_util::sync::CancellationToken;

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
    let transport = Noting {
        inner: AsyncRwTransport::new(input, output),
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
