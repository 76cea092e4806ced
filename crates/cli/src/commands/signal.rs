//! `outlive signal`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::reply::SignalReply;
use outlive::verbs::signal::{self, SendSignal, Signaled};
use outlive::{Signal, agree, count};

/// Send a signal to every process of a job
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job to signal: its id, the beginning of its id, or its name
    id: String,
    /// The signal: a name such as USR1 or SIGINT, or a number
    #[arg(value_parser = Signal::parse)]
    signal: Signal,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let id = context.find(&args.id)?;
    let asked = SendSignal {
        signal: args.signal,
    };
    let Signaled { reached, denied } = signal::signal(&context.outlive, &id, asked)?;
    if denied > 0 {
        context.say(&format!(
            "outlive: {denied} of its processes {} to another user and {} not reached",
            agree(denied.into(), "belongs", "belong"),
            agree(denied.into(), "was", "were")
        ));
    }
    match context.json {
        true => context.print_json(&SignalReply {
            id,
            signal: args.signal,
            reached,
            denied,
        })?,
        false => context.print(&format!(
            "{id} {} sent to {}",
            args.signal,
            count(reached.into(), "process")
        ))?,
    }
    Ok(Exit::Success)
}
