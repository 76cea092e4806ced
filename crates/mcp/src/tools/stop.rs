//! `stop`: stops all processes of jobs.

use super::{Hints, Verb};
use crate::call::{Call, seconds};
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::JobId;
use outlive::api::reply::StopReply;
use outlive::inbox::all_told;
use outlive::verbs::stop::{self, StoppedPart};
use schemars::JsonSchema;
use serde::Deserialize;

pub struct Stop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The jobs: ids, beginnings of ids, or names
    pub ids: Vec<String>,
    /// How long to wait between TERM and KILL (default: as the job was started, usually 2)
    pub grace_seconds: Option<f64>,
}

impl Verb for Stop {
    type Args = Args;
    type Answer = StopReply;
    const NAME: &'static str = "stop";
    const TITLE: &'static str = "Stop jobs";
    const DESCRIPTION: &'static str = "\
Stop jobs, each with all its processes: also those that detached themselves, and those that an ended job \
left behind. Sends TERM (with a terminal also HUP), waits for the grace time, then sends KILL. Returns when no process is left, and says \
how each job ended.\n\
Use it instead of `kill` or `pkill`, which miss children or hit the wrong process. It is not an error to stop \
a job that has ended.";
    const HINTS: Hints = Hints::Ends;

    fn call(call: &Call, args: Args) -> Result<Reply<StopReply>, Refused> {
        if args.ids.is_empty() {
            return Err(Refused::bad_input("give the ids of the jobs to stop"));
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
        let lines: Vec<String> = stopped
            .iter()
            .map(|stopped| {
                let what = match stopped.what {
                    StoppedPart::TheJob => "",
                    StoppedPart::Leftovers => {
                        " (it had already ended; the processes that it left behind were stopped)"
                    }
                    StoppedPart::Doorbell => {
                        " (it had already ended; its doorbell is not rung again)"
                    }
                    StoppedPart::AlreadyEnded => " (it had already ended)",
                };
                format!("{}{what}", words::line(&stopped.job))
            })
            .collect();
        let jobs = stopped.iter().map(|stopped| stopped.job.clone());
        let answer = StopReply {
            jobs: jobs.collect(),
            failed: Vec::new(),
        };
        let reply = Reply::new(lines.join("\n"), answer).tells_all_ends(ids);
        Ok(reply.then(move || all_told(stopped.iter().map(|stopped| &stopped.receipt))))
    }
}
