//! `outlive wait`

use super::duration;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use clap::ValueEnum;
use outlive::api::job::JobList;
use outlive::api::reply::WaitReply;
use outlive::inbox::InboxEvent;
use outlive::verbs::list::{self, Filter, Which};
use outlive::verbs::wait::{self, Until, Waited, What};
use outlive::{Job, JobId};
use std::time::Duration;

/// Block until jobs have ended; end with the job's own code
///
/// With several jobs the code is that of the first, in the order given, that did not end with 0.
/// Without any, waits for all running jobs of this session, or all there are outside a session.
/// A job's own session that waited for it has been told of its end: its inbox does not tell it again.
/// Set OUTLIVE_SESSION to say for which session you wait.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Ids, beginnings of ids, or names
    ids: Vec<String>,
    /// Until one of them has ended; the code is that job's
    #[arg(long, conflicts_with = "all")]
    any: bool,
    /// Until all of them have ended (the default)
    #[arg(long)]
    all: bool,
    /// Wait for this, or for the job's end; if the job ends before `ready`, `match`, `quiet` or `input`, the exit code
    /// is never 0. `match` and `quiet`: only events that nobody has been told of yet
    #[arg(long = "for", value_enum, default_value_t = For::End)]
    what: For,
    /// At most this long (then 124, and the jobs are untouched)
    #[arg(long, value_name = "DUR", value_parser = duration)]
    timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    End,
    Ready,
    Match,
    Quiet,
    Input,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let ids = match args.ids.is_empty() {
        true => running(context)?,
        false => context.find_all(&args.ids)?,
    };
    let until = if args.any { Until::Any } else { Until::All };
    let waited = wait::wait(
        &context.outlive,
        &ids,
        wait::Wait {
            what: match args.what {
                For::End => What::End,
                For::Ready => What::Ready,
                For::Match => What::Match,
                For::Quiet => What::Quiet,
                For::Input => What::Input,
            },
            until,
            timeout: args.timeout,
        },
    )?;
    match waited.events.as_slice() {
        [] => print(context, &waited.jobs)?,
        events => print_events(context, &waited.jobs, events)?,
    }
    context.noted(waited.receipt.told());
    if waited.out_of_time {
        context.say("outlive: out of time; what has not ended goes on");
        return Ok(Exit::OutOfTime);
    }
    Ok(match args.what {
        For::End => exit(&waited, until),
        For::Ready | For::Match | For::Quiet | For::Input => exit_for_other(&waited, until),
    })
}

/// What came is told with the jobs it came of.
fn print_events(context: &Context, jobs: &[Job], events: &[InboxEvent]) -> Result<(), Failure> {
    if context.json {
        return context.print_json(&WaitReply {
            jobs: jobs.to_vec(),
            events: events.to_vec(),
        });
    }
    print(context, jobs)?;
    events
        .iter()
        .try_for_each(|event| context.print(&event.text))
}

/// Success is that it came of one (or all) of them; an end is something else, even a good one.
fn exit_for_other(waited: &Waited, until: Until) -> Exit {
    let mut each = waited.met.iter();
    let met = match until {
        Until::All => each.all(|met| *met),
        Until::Any => each.any(|met| *met),
    };
    match (met, exit(waited, until)) {
        (true, _) => Exit::Success,
        (false, exit) if exit.code() == 0 => Exit::Unknown,
        (false, exit) => exit,
    }
}

fn running(context: &Context) -> Result<Vec<JobId>, Failure> {
    let filter = Filter {
        session: context.session(None)?,
        state: Which::Running,
        ..Filter::default()
    };
    let jobs = list::list(&context.outlive, &filter)?.jobs;
    Ok(jobs.into_iter().map(|job| job.id).collect())
}

fn print(context: &Context, jobs: &[Job]) -> Result<(), Failure> {
    match context.json {
        true => context.print_json(&JobList {
            jobs: jobs.to_vec(),
        }),
        false => jobs
            .iter()
            .try_for_each(|job| context.print(&render::line(job))),
    }
}

fn exit(waited: &Waited, until: Until) -> Exit {
    let mut ended = waited
        .jobs
        .iter()
        .filter(|job| job.has_ended())
        .map(Exit::of);
    match until {
        // Of several that have ended, the one that did so first.
        Until::Any => waited
            .jobs
            .iter()
            .filter(|job| job.has_ended())
            .min_by_key(|job| &job.ended_at)
            .map_or(Exit::Success, Exit::of),
        Until::All => ended.find(|exit| exit.code() != 0).unwrap_or(Exit::Success),
    }
}
