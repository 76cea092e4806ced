//! `outlive wait`

use super::select::Select;
use super::{duration, size};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use clap::ValueEnum;
use outlive::api::job::{JobList, JobTail};
use outlive::api::reply::{WaitReply, WaitTailReply};
use outlive::inbox::Event;
use outlive::verbs::list::{self, Filter, Selector, StateFilter};
use outlive::verbs::log;
use outlive::verbs::wait::{self, Until, WaitFor, Waited};
use outlive::{Job, JobId};
use std::time::Duration;

/// Wait until jobs have ended, and exit with the job's own code
///
/// With several jobs, the exit code is that of the first job, in the order given, that did not end with 0.
/// Without an id, waits for the running jobs that --session, --task and --label select; without these, for all
/// running jobs of this session, or of every session if there is none. If there is no such job, the exit code is 0.
///
/// If the job's own session waits for it, its inbox does not report that end again. Set OUTLIVE_SESSION to
/// say for which session you wait.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The jobs: ids, beginnings of ids, or names
    ids: Vec<String>,
    /// Wait until one of them has ended, and exit with its code
    #[arg(long, conflicts_with = "all")]
    any: bool,
    /// Wait until all of them have ended (the default)
    #[arg(long)]
    all: bool,
    /// Wait for this, or until the job ends
    ///
    /// With `end`, the exit code is the job's. With the others it is 0 if it has come, and never 0 if the job ends
    /// first. `match` and `quiet` wait for an event that nobody has been told of yet.
    #[arg(long = "for", value_enum, default_value_t = For::End)]
    what: For,
    /// Wait at most this long, then exit with 124; the jobs continue
    #[arg(long, value_name = "DUR", value_parser = duration)]
    timeout: Option<Duration>,
    /// Also print the end of each job's output: at most this much, in whole lines
    #[arg(long, value_name = "SIZE", value_parser = size)]
    tail: Option<u64>,
    #[command(flatten)]
    select: Select,
}

const EXAMPLES: &str = "\
Examples:
  outlive wait build && echo ok        until it has ended
  outlive wait build --timeout 5m      for at most 5 minutes, then exit with 124
  outlive wait --any api worker        until one of them has ended
  outlive wait web --for ready         until it is ready (see `run --ready`)";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum For {
    /// The job has ended
    End,
    /// The job is ready, as `run --ready` says
    Ready,
    /// The job printed a line that `run --watch` watches for
    Match,
    /// The job wrote nothing for as long as `run --quiet-after` says
    Quiet,
    /// The job waits for input
    Input,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let ids = match args.select.jobs(context, &args.ids)? {
        Some(ids) => ids,
        None => running(context)?,
    };
    if ids.is_empty() {
        context.say("outlive: there is no running job to wait for");
    }
    let until = if args.any { Until::Any } else { Until::All };
    let how = wait::Wait {
        what: match args.what {
            For::End => WaitFor::End,
            For::Ready => WaitFor::Ready,
            For::Match => WaitFor::Match,
            For::Quiet => WaitFor::Quiet,
            For::Input => WaitFor::Input,
        },
        until,
        timeout: args.timeout,
    };
    let waited = wait::wait_saying(&context.outlive, &ids, how, &mut |place, why| {
        context.say_silent(place, why);
    })?;
    let printed = match (args.tail, waited.events.as_slice()) {
        (Some(size), events) => print_tails(context, &waited.jobs, events, size),
        (None, []) => print(context, &waited.jobs),
        (None, events) => print_events(context, &waited.jobs, events),
    };
    context.noted_if_read(printed, || waited.receipt.told())?;
    if waited.out_of_time {
        context.say("outlive: time is up; jobs that have not ended continue");
        return Ok(Exit::OutOfTime);
    }
    Ok(match args.what {
        For::End => exit(&waited, until),
        For::Ready | For::Match | For::Quiet | For::Input => exit_for_other(&waited, until),
    })
}

/// Prints the events with the jobs that they belong to.
fn print_events(context: &Context, jobs: &[Job], events: &[Event]) -> Result<(), Failure> {
    if context.json {
        return context.print_json(&WaitReply {
            jobs: jobs.to_vec(),
            events: events.to_vec(),
            ..WaitReply::default()
        });
    }
    print(context, jobs)?;
    events
        .iter()
        .try_for_each(|event| context.print(&event.text))
}

/// Prints each job with the end of its output, then the events.
fn print_tails(
    context: &Context,
    jobs: &[Job],
    events: &[Event],
    size: u64,
) -> Result<(), Failure> {
    let tail = |job: &Job| {
        let tail = log::tail(&context.outlive, &job.id, size)?;
        let job = job.clone();
        Ok(JobTail { job, tail })
    };
    let jobs = jobs.iter().map(tail).collect::<Result<Vec<_>, Failure>>()?;
    if context.json {
        let events = events.to_vec();
        return context.print_json(&WaitTailReply { jobs, events });
    }
    for JobTail { job, tail } in &jobs {
        context.print(&render::line(job))?;
        context.print(tail)?;
    }
    let mut texts = events.iter().map(|event| &event.text);
    texts.try_for_each(|text| context.print(text))
}

/// 0 if one (or all) of the jobs did what was waited for. If a job ended first, the code is never 0.
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
        select: Selector {
            session: context.session(None)?,
            ..Selector::default()
        },
        state: StateFilter::Running,
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
        // The job that ended first.
        Until::Any => waited
            .jobs
            .iter()
            .filter(|job| job.has_ended())
            .min_by_key(|job| &job.ended_at)
            .map_or(Exit::Success, Exit::of),
        Until::All => ended.find(|exit| exit.code() != 0).unwrap_or(Exit::Success),
    }
}
