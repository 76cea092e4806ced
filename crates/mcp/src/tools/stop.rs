//! `stop`: stops all processes of jobs.

use super::{Hints, Verb};
use crate::answer::recognisable;
use crate::call::{Call, seconds};
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::inbox::all_told;
use outlive::verbs::stop::{self, Stopped, StoppedPart};
use outlive::{Job, JobId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Stop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The jobs: ids, beginnings of ids, or names
    pub ids: Vec<String>,
    /// The time between TERM and KILL (default: as the job was started, usually 2)
    pub grace_seconds: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// In the order of `ids`
    jobs: Vec<StoppedJob>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StoppedJob {
    #[serde(flatten)]
    job: Job,
    /// What was stopped, if it was not the job
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Verb for Stop {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "stop";
    const TITLE: &'static str = "Stop jobs";
    const DESCRIPTION: &'static str = "\
Stop jobs with all their processes, also those that detached themselves or that an ended job left behind: TERM \
(with a terminal also HUP), then KILL after the grace time. Returns when no process is left, and says how each \
job ended. Use it instead of `kill` or `pkill`, which miss children or hit the wrong process. It is not an \
error to stop a job that has ended.";
    const HINTS: Hints = Hints::Ends;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        if args.ids.is_empty() {
            return Err(Refused::bad_input("pass the ids of the jobs to stop"));
        }
        let how = stop::Stop {
            grace: seconds("grace_seconds", args.grace_seconds)?,
            detail: Some(format!(
                "session {} over MCP",
                outlive::words::name(&call.session)
            )),
        };
        let ids: Vec<JobId> = call.find_all(&args.ids)?;
        let stopped = stop::stop(&call.outlive, &ids, &how)?;
        let jobs: Vec<StoppedJob> = stopped.iter().map(|one| entry(call, one)).collect();
        let lines: Vec<String> = jobs.iter().map(line).collect();
        let reply = Reply::new(lines.join("\n"), Answer { jobs }).tells_all_ends(ids);
        Ok(reply.then(move || all_told(stopped.iter().map(|stopped| &stopped.receipt))))
    }
}

fn entry(call: &Call, stopped: &Stopped) -> StoppedJob {
    StoppedJob {
        job: recognisable(call, &stopped.job),
        note: match stopped.what {
            StoppedPart::TheJob => None,
            StoppedPart::Leftovers => {
                Some("it had already ended; the processes that it left behind were stopped")
            }
            StoppedPart::Doorbell => Some("it had already ended; its doorbell is not rung again"),
            StoppedPart::AlreadyEnded => Some("it had already ended"),
        },
    }
}

fn line(stopped: &StoppedJob) -> String {
    match stopped.note {
        None => words::line(&stopped.job),
        Some(note) => format!("{} ({note})", words::line(&stopped.job)),
    }
}
