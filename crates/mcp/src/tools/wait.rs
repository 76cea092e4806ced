//! `wait`: waits until jobs have ended, for as long as the client waits.

use super::{Hints, Verb};
use crate::answer::Glance;
use crate::call::{Call, WaitResult, seconds};
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::inbox::EventKind;
use outlive::verbs::list::StateFilter;
use outlive::verbs::wait::{self, Until, WaitFor, Waited};
use outlive::{Error, JobId, Notify};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub struct Wait;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The jobs: ids or names (default: all running jobs of this session)
    #[serde(default)]
    pub ids: Vec<String>,
    /// Return when it has come for one of the jobs (default: for all)
    #[serde(default)]
    pub any: bool,
    /// What to wait for (default: end). The end of the job always ends the waiting
    #[serde(rename = "for")]
    pub what: Option<WaitFor>,
    /// Wait at most this long; at most as long as this client waits for an answer (usually 45)
    pub timeout_seconds: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// In the order of `ids`
    jobs: Vec<Glance>,
    /// It has not come yet; the jobs continue
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    still_running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Verb for Wait {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "wait";
    const TITLE: &'static str = "Wait for jobs";
    const DESCRIPTION: &'static str = "\
Wait until jobs have ended, and return how each ended, with the last lines of its output. With `for`: until a \
job is `ready`, printed a line that it is watched for (`match`), was silent (`quiet`), or waits for `input`.\n\
Use it when you cannot go on without the result. It costs nothing; never write `sleep` loops. It returns \
before this client gives up, after about 45 s, and then says \"still running\". That is not an error: call it \
again, or do something else. Waiting changes nothing about the jobs, and neither does cancelling it.";
    const HINTS: Hints = Hints::Reads;
    const ALWAYS_LOADED: bool = true;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let limit = call
            .patience
            .within(seconds("timeout_seconds", args.timeout_seconds)?);
        let ids = match args.ids.is_empty() {
            true => running(call)?,
            false => call.find_all(&args.ids)?,
        };
        let what = args.what.unwrap_or_default();
        let until = if args.any { Until::Any } else { Until::All };
        let waited = within(call, &ids, what, until, limit)?;
        reply(call, waited, what, limit)
    }
}

/// The running jobs of this session, whatever else the call may see.
fn running(call: &Call) -> Result<Vec<JobId>, Error> {
    let mut jobs = call.list(StateFilter::Running, 0)?;
    jobs.retain(|job| job.session.as_ref() == Some(&call.session));
    Ok(jobs.into_iter().map(|job| job.id).collect())
}

/// Waits at most this long.
pub fn within(
    call: &Call,
    ids: &[JobId],
    what: WaitFor,
    until: Until,
    limit: Duration,
) -> Result<Waited, Error> {
    let word = match ids {
        [id] => format!("waiting for {id}"),
        ids => format!("waiting for {} jobs", ids.len()),
    };
    let _reserved = wait::reserve(&call.outlive, ids, what);
    call.patience.stretches(limit, &word, |stretch| {
        let how = wait::Wait {
            what,
            until,
            timeout: Some(stretch),
        };
        let waited = wait::wait(&call.outlive, ids, how)?;
        let come = if waited.out_of_time {
            WaitResult::NotYet
        } else {
            WaitResult::Yes
        };
        Ok((waited, come))
    })
}

fn reply(
    call: &Call,
    waited: Waited,
    what: WaitFor,
    limit: Duration,
) -> Result<Reply<Answer>, Refused> {
    let jobs = Glance::at_all(call, &waited.jobs)?;
    let still_running = waited.out_of_time;
    let mut text = jobs
        .iter()
        .map(words::glance)
        .collect::<Vec<_>>()
        .join("\n\n");
    let note = match (still_running, waited.jobs.is_empty()) {
        (_, true) => {
            Some("This session has no running job, so there is nothing to wait for.".to_owned())
        }
        (true, false) => Some(format!(
            "Still running after {} s of waiting. That is not an error: call `wait` again, or do something \
else; {}. `log` with the id and the cursor gives new output.",
            limit.as_secs(),
            words::telling(call, Notify::End)
        )),
        (false, false) => None,
    };
    if let Some(note) = &note {
        text = format!("{text}\n{note}").trim_start().to_owned();
    }
    let answer = Answer {
        jobs,
        still_running,
        note,
    };
    let reply = Reply::new(text, answer).shows(&waited.jobs);
    Ok(heard(reply, waited, what))
}

/// The reply tells ends, and the awaited event if there is nothing more to say about it. A match or a
/// silence is an event of its own, which is appended to the reply like any other.
pub fn heard<A>(mut reply: Reply<A>, waited: Waited, what: WaitFor) -> Reply<A> {
    let kind = match what {
        WaitFor::Match | WaitFor::Quiet => return reply,
        WaitFor::End => None,
        WaitFor::Ready => Some(EventKind::Ready),
        WaitFor::Input => Some(EventKind::AwaitingInput),
    };
    for (job, met) in waited.jobs.iter().zip(&waited.met) {
        if let (Some(kind), true) = (kind, *met) {
            reply.told.covers.push((job.id.clone(), kind));
        }
    }
    let ended = waited.jobs.iter().filter(|job| job.has_ended());
    let ended: Vec<JobId> = ended.map(|job| job.id.clone()).collect();
    reply.tells_ends(ended).then(move || waited.receipt.told())
}
