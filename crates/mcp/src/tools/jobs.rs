//! `jobs`: lists running jobs and the newest ended ones.

use super::{Hints, Verb};
use crate::call::{Call, Scope};
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::api::job::JobList;
use outlive::defaults::LIST_ENDED;
use outlive::verbs::list::StateFilter;
use schemars::JsonSchema;
use serde::Deserialize;

pub struct Jobs;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Show only jobs in this state (default: all)
    state: Option<StateFilter>,
    /// Show at most this many ended jobs (default: 20)
    limit: Option<usize>,
}

impl Verb for Jobs {
    type Args = Args;
    type Answer = JobList;
    const NAME: &'static str = "jobs";
    const TITLE: &'static str = "List jobs";
    const DESCRIPTION: &'static str = "\
List the jobs of this session, first those that run, then those that ended last, with state, exit code, \
duration and command.\n\
Use it to find your jobs again after a context loss, a compaction or a restart: jobs continue without you, \
and none is lost from this list. Do not poll with it: you are told when a job has ended, and `wait` waits \
for that.";
    const HINTS: Hints = Hints::Reads;

    fn call(call: &Call, args: Args) -> Result<Reply<JobList>, Refused> {
        let state = args.state.unwrap_or_default();
        let jobs = call.list(state, args.limit.unwrap_or(LIST_ENDED))?;
        let text = match jobs.is_empty() {
            true => none(call),
            false => jobs.iter().map(words::line).collect::<Vec<_>>().join("\n"),
        };
        let answer = JobList { jobs: jobs.clone() };
        Ok(Reply::new(text, answer).shows(&jobs))
    }
}

fn none(call: &Call) -> String {
    match (call.scope, call.is_made) {
        (Scope::Everything, _) => "There are no jobs.".to_owned(),
        (Scope::Session, false) => format!("This session ({}) has no jobs.", call.session),
        (Scope::Session, true) => format!(
            "This session ({}) has no jobs. Nothing told this server which conversation it serves, so \
its session began when it started. In a shell, `outlive list` also shows jobs of earlier sessions.",
            call.session
        ),
    }
}
