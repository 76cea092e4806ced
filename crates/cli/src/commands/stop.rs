//! `outlive stop`

use super::{duration, wait};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::Job;
use outlive::verbs::stop::{self, What};
use std::time::Duration;

/// Stop jobs, the whole tree of each: TERM, grace, KILL until none is left
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids, beginnings of ids, or names
    #[arg(required = true)]
    ids: Vec<String>,
    /// From TERM to KILL [default: the job's own, 2s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    grace: Option<Duration>,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let ids = context.find_all(&args.ids)?;
    let how = stop::Stop {
        grace: args.grace,
        detail: Some(who(context)?),
    };
    let stopped = stop::stop(&context.outlive, &ids, &how)?;
    for one in &stopped {
        match one.what {
            What::TheJob => {}
            What::Leftovers => context.say(&format!(
                "outlive: {} had ended; what it left behind was stopped",
                one.job.id
            )),
            What::AlreadyEnded => {
                context.say(&format!("outlive: {} had already ended", one.job.id))
            }
        }
    }
    let jobs: Vec<Job> = stopped.iter().map(|one| one.job.clone()).collect();
    wait::print(context, &jobs, ids.len() == 1)?;
    for one in &stopped {
        context.noted(one.heard(&context.outlive));
    }
    Ok(Exit::Success)
}

/// Who asks, for the record.
fn who(context: &Context) -> Result<String, Failure> {
    Ok(match context.session(None)? {
        Some(session) => format!("session {session}"),
        None => format!("outlive stop, pid {}", std::process::id()),
    })
}
