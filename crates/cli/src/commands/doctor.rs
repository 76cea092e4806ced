//! `outlive doctor`

use crate::context::Context;
use crate::exit::{Exit, Failure};

/// What this machine offers, and what follows
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(context: &Context, _args: Args) -> Result<Exit, Failure> {
    context.say("todo");
    Ok(Exit::Success)
}
