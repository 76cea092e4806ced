//! `jobs`: lists running jobs and the newest ended ones.

use super::{Hints, Verb};
use crate::answer::JobAnswer;
use crate::call::{Call, Scope};
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::verbs::list::Which;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Jobs;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only those in this state (default: all)
    state: Option<State>,
    /// At most this many ended ones (default: 20)
    limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    Running,
    Ended,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Running ones first, then ended ones, the newest end first
    jobs: Vec<JobAnswer>,
}

impl Verb for Jobs {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "jobs";
    const TITLE: &'static str = "List jobs";
    const DESCRIPTION: &'static str = "List the jobs of this session: those that run, then the newest \
that ended, with state, exit code, duration and command.\n\
Use it to find your jobs again after a context loss, a compaction or a restart: jobs go on without you, \
and none is forgotten. Do not use it to poll for an end: you are told of ends without asking, and `wait` \
waits for one.";
    const HINTS: Hints = Hints::Reads;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let state = match args.state.unwrap_or(State::All) {
            State::Running => Which::Running,
            State::Ended => Which::Ended,
            State::All => Which::All,
        };
        let jobs = call.list(state, args.limit.unwrap_or(20))?;
        let text = match jobs.is_empty() {
            true => none(call),
            false => jobs.iter().map(words::line).collect::<Vec<_>>().join("\n"),
        };
        let answer = Answer {
            jobs: JobAnswer::all(&jobs)?,
        };
        Ok(Reply::new(text, answer).shows(&jobs))
    }
}

fn none(call: &Call) -> String {
    match (call.scope, call.is_made) {
        (Scope::Everything, _) => "There are no jobs.".to_owned(),
        (Scope::Session, false) => format!("This session ({}) has no jobs.", call.session),
        (Scope::Session, true) => format!(
            "This session ({}) has no jobs. Nothing told this server which conversation it serves, so \
the session began with it; jobs of earlier ones are seen by `outlive list`.",
            call.session
        ),
    }
}
