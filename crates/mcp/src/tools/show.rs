//! `show`: shows one job.

use super::{Hints, Verb};
use crate::answer::Glance;
use crate::call::Call;
use crate::reply::{Refused, Reply};
use crate::words;
use outlive::verbs::show;
use outlive_api::brief::Detail;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct Show;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The job: its id, the beginning of its id, or its name
    pub id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    job: Glance,
    /// Nothing has changed since the last call
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchanged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Verb for Show {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "show";
    const TITLE: &'static str = "Show a job";
    const DESCRIPTION: &'static str = "\
Show one job as it is now: state, exit code, directory, the whole command, whether it waits for input, and the \
last lines of its output. Use it for one look, not again and again: `wait` waits for the end of a job.";
    const HINTS: Hints = Hints::Reads;
    const DETAIL: Detail = Detail::Full;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let id = call.find(&args.id)?;
        let job = show::show(&call.outlive, &id)?;
        let glance = Glance::in_detail(call, &job)?;
        let mut text = words::glance_in_detail(&glance);
        let last = call.glances.look(&call.session, &job);
        let note = last.map(|ago| {
            format!(
                "Nothing has changed since you looked {} s ago. If you need the end of the job now, call \
`wait`; otherwise do something else.",
                ago.as_secs()
            )
        });
        if let Some(note) = &note {
            text.push_str(&format!("\n{note}"));
        }
        let unchanged = last.is_some();
        let reply = Reply::new(
            text,
            Answer {
                job: glance,
                unchanged,
                note,
            },
        );
        if !job.has_ended() {
            return Ok(reply.shows([&job]));
        }
        let outlive = call.outlive.clone();
        Ok(reply
            .tells_ends([id])
            .then_seen(move || show::seen(&outlive, &job)))
    }
}
