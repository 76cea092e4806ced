//! Output by byte cursor: every byte once, in order, until the job ends.

use super::Cut;
use super::flow::Flow;
use super::message::OfOutput;
use crate::server::{Desk, on_a_thread};
use crate::visit::Visit;
use outlive::Chunk;
use outlive::listening::{self, Following};
use serde::Serialize;
use std::sync::Arc;

/// Bytes that were not kept.
#[derive(Serialize)]
struct Dropped {
    dropped: [u64; 2],
}

pub async fn follow(
    desk: &Arc<Desk>,
    visit: Visit,
    asked: OfOutput,
    mut flow: Flow,
) -> Result<(), Cut> {
    let watcher = desk.hub.watcher();
    let id = visit.find(asked.job.as_str())?;
    let mut following = Following::new(&visit.outlive, &id, asked.from)?.holding(&visit.outlive);
    loop {
        flow.room().await?;
        let outlive = visit.outlive.clone();
        let (rest, state, chunk) = on_a_thread(move || {
            // Read the state before the output: once it shows the end, all output is in the file.
            let (_, state) = listening::meet(&outlive, following.id())?;
            let chunk = following.read(&outlive, &state)?;
            Ok((following, state, chunk))
        })
        .await?;
        following = rest;
        match chunk {
            Some(Chunk::Bytes { at, bytes, .. }) => flow.send_bytes(at, &bytes).await?,
            Some(Chunk::Missing(range)) => {
                let dropped = [range.start, range.end];
                flow.send(&Dropped { dropped }).await?;
            }
            Some(Chunk::Ended | Chunk::OutOfTime) => return Ok(()),
            None => {
                watcher.want(&id, following.wanted(&state));
                watcher.news().await;
            }
        }
    }
}
