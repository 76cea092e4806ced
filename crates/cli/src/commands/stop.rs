//! `outlive stop`

use super::duration;
use super::select::SelectOrAll;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::hints;
use crate::render;
use clap::builder::NonEmptyStringValueParser;
use outlive::api::reply::{StopFailure, StopReply};
use outlive::verbs::stop::{self, Stopped, StoppedPart, Stops};
use outlive::{Error, JobId, words};
use std::time::Duration;

/// Stop jobs, each with its whole process tree
///
/// Sends TERM to every process of the job (and HUP if it has a terminal), waits for the grace time, then
/// sends KILL until no process is left. This reaches processes that used setsid or a double fork, too. A job that has ended already may
/// have left processes behind: `stop` ends those.
///
/// If one of the ids is wrong, no job is stopped. Selected are jobs that run, and ended ones that have left processes
/// behind. If there is none, nothing is done and the exit code is 0.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The jobs: ids, beginnings of ids, or names
    ids: Vec<String>,
    #[command(flatten)]
    select: SelectOrAll,
    /// How long to wait between TERM and KILL [default: the job's `run --grace`, else 2s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    grace: Option<Duration>,
    /// Who asks for the stop, for the record: `ended_by_detail` of the job [default: this session]
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    by: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  outlive stop web
  outlive stop web worker --grace 30s
  outlive stop --session ci --label suite=unit --by 'the nightly run'";

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let how = stop::Stop {
        grace: args.grace,
        detail: Some(args.by.map_or_else(|| who(context), Ok)?),
    };
    // A wrong ID may be a typing error, so nothing is stopped then.
    let ids = args.select.jobs(context, &args.ids)?.ids(context);
    let Stops { stopped, failed } = stop::stop_all(&context.outlive, &ids, &how);
    for one in &stopped {
        match one.what {
            StoppedPart::TheJob => {}
            StoppedPart::Leftovers => context.say(&format!(
                "outlive: {} had already ended; the processes that it left behind were stopped",
                one.job.id
            )),
            StoppedPart::Doorbell => context.say(&format!(
                "outlive: {} had already ended; its doorbell is not rung again",
                one.job.id
            )),
            StoppedPart::AlreadyEnded => {
                context.say(&format!("outlive: {} had already ended", one.job.id))
            }
        }
    }
    print(context, &stopped, &failed)?;
    for one in &stopped {
        context.noted(one.receipt.told());
    }
    for (id, error) in &failed {
        let why = hints::with_hint(error);
        context.say_error(&format!("outlive: stopping {id} failed: {why}"));
    }
    let worst = failed
        .into_iter()
        .map(|(_, error)| Failure::from(error).exit());
    Ok(worst
        .max_by_key(|exit| exit.code())
        .unwrap_or(Exit::Success))
}

fn print(context: &Context, stopped: &[Stopped], failed: &[(JobId, Error)]) -> Result<(), Failure> {
    if !context.json {
        let mut lines = stopped.iter().map(|one| render::line(&one.job));
        return lines.try_for_each(|line| context.print(&line));
    }
    let failed = failed.iter().map(|(id, error)| StopFailure {
        id: id.clone(),
        error: hints::failure(error),
    });
    context.print_json(&StopReply {
        jobs: stopped.iter().map(|one| one.job.clone()).collect(),
        failed: failed.collect(),
    })
}

/// Who asked for the stop, for the job's record.
fn who(context: &Context) -> Result<String, Failure> {
    Ok(match context.session(None)? {
        Some(session) => format!("session {}", words::name(&session)),
        None => format!("outlive stop, pid {}", std::process::id()),
    })
}
