//! `outlive after`: what the keeper of a job with `--after` runs.

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::JobId;
use outlive::verbs::after::{self, MUST_NOT_START, Verdict};
use std::io::{self, Write};

/// Wait for the jobs that a job starts after; what keepers run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The job that waits
    job: String,
    /// Process id of its keeper
    keeper: i32,
}

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    let job = JobId::parse(&args.job).map_err(outlive::Error::from)?;
    Ok(match after::after(&context.outlive, &job, args.keeper)? {
        Verdict::Start => Exit::Success,
        Verdict::Never(reason) => {
            // The keeper records this as the reason.
            writeln!(io::stderr(), "{reason}")?;
            Exit::Job(MUST_NOT_START)
        }
    })
}
