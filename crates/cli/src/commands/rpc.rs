//! `outlive rpc`

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// Serve the verbs to a program, over standard input and output
///
/// For a harness that has many jobs: one process instead of one for each command. Each line is a JSON object. Many
/// requests may be under way at once, outputs and inboxes can be followed, and output comes byte for byte.
/// docs/rpc.md describes the messages.
///
/// It ends when its input ends, and the jobs continue. It can be killed at any time: the next one goes on where it
/// was. Unlike other commands it takes no session from the environment, because a harness speaks for many.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: Args) -> Result<Exit, Failure> {
    outlive_rpc::serve(context.outlive.clone()).map_err(Failure::Server)?;
    Ok(Exit::Success)
}
