//! `jobs`: lists running jobs and the newest ended ones.

use super::{Hints, Verb};
use crate::answer::recognisable;
use crate::call::{Call, Scope};
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::defaults::LIST_ENDED;
use outlive::verbs::list::StateFilter;
use outlive::{Job, LabelFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Jobs;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Only jobs in this state (default: all)
    state: Option<StateFilter>,
    /// At most this many ended jobs (default: 20)
    limit: Option<usize>,
    /// Only jobs with this label: KEY or KEY=VALUE
    label: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    jobs: Vec<Job>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Verb for Jobs {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "jobs";
    const TITLE: &'static str = "List jobs";
    const DESCRIPTION: &'static str = "\
List the jobs of this session with state, exit code and duration: those that run, then those that ended last. \
Use it to find your jobs again after a compaction or a restart; `show` has the details of one. Do not poll \
with it: `wait` waits for the end of a job.";
    const HINTS: Hints = Hints::Reads;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let state = args.state.unwrap_or_default();
        let label = args.label.as_deref().map(LabelFilter::parse);
        let label = label.transpose().map_err(Refused::bad_input)?;
        let limit = args.limit.unwrap_or(LIST_ENDED);
        let found = call.list_with(state, limit, label.into_iter().collect())?;
        let jobs: Vec<Job> = found.iter().map(|job| recognisable(call, job)).collect();
        let jobs_asked_for = match (state, &args.label) {
            (StateFilter::Running, None) => "running jobs",
            (StateFilter::Ended, None) => "ended jobs",
            (StateFilter::All, None) => "jobs",
            (_, Some(_)) => "such jobs",
        };
        let note = jobs.is_empty().then(|| none(call, jobs_asked_for));
        let text = match &note {
            Some(note) => note.clone(),
            None => jobs.iter().map(words::line).collect::<Vec<_>>().join("\n"),
        };
        Ok(Reply::new(text, Answer { jobs, note }).shows(&found))
    }
}

fn none(call: &Call, asked_for: &str) -> String {
    let session = outlive::words::name(&call.session);
    match (call.scope, call.is_made) {
        (Scope::Everything, _) => format!("There are no {asked_for}."),
        (Scope::Session, false) => format!("This session ({session}) has no {asked_for}."),
        (Scope::Session, true) => format!(
            "This session ({session}) has no {asked_for}. Nothing told this server which conversation it serves, so \
its session began when it started, and jobs of earlier sessions are not shown here."
        ),
    }
}
