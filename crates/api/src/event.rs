//! Events: what a session is told.

use crate::event_id::EventId;
use crate::id::JobId;
use crate::label::Label;
use crate::labels::Labels;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What kind of event a session is told.
///
/// More kinds will be added. Receivers ignore kinds that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The job has ended.
    Ended,
    /// Lines of its output matched its watch.
    Matched,
    /// Its watch matched so often that it turned itself off.
    WatchDisabled,
    /// The watches of the session's jobs matched so often that they are silent for a while.
    WatchOverflow,
    /// The watches of the session's jobs are told again.
    WatchResumed,
    /// The job is ready, by the sign that it was started with.
    Ready,
    /// The job has written nothing for as long as it was started to be watched for.
    Quiet,
    /// A process of the job waits for input.
    AwaitingInput,
    /// The processes that the job left running have ended.
    LingeringEnded,
    /// An attempt of the job has ended, and the next follows.
    Restarted,
    /// Work was finished elsewhere and posted.
    Delegation,
    /// A place where jobs of the session ran is not reached. This says nothing about the jobs.
    Unreachable,
    /// That place is reached again.
    Reached,
    /// A kind that this version does not know.
    #[serde(other)]
    Unknown,
}

/// An event as every face shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Its id. An event that is delivered again has the same id.
    pub event: EventId,
    /// What kind of event it is.
    pub kind: EventKind,
    /// The job or post that it belongs to.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub job: JobId,
    /// The session that is told. Null for a job without a session, which a `wait` may show.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub session: Option<Label>,
    /// The unit of work that the job belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub task: Option<Label>,
    /// The labels of the job.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub labels: Labels,
    /// When it happened.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub at: Timestamp,
    /// 1 the first time it is delivered, then 2, 3, and so on. 0 if it was only looked at, and in what a doorbell
    /// gets.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = [0, 1])))]
    pub attempt: u32,
    /// Why it is delivered for the last time, if it is. It was never acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<DropReason>,
    /// What is known about it, for programs. The keys depend on the kind: see `event_data`.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub data: Value,
    /// The same as a block of text for an agent. Secrets are left out.
    pub text: String,
}

/// Why an event is delivered for the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// It was delivered several times and never acknowledged.
    Attempts,
    /// It is too old.
    Age,
    /// Its session was ended.
    Session,
}

/// Several events: what `inbox` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Events {
    /// The events, the oldest first.
    pub events: Vec<Event>,
    /// Those of them that are delivered for the last time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<EventId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_later_version_is_read_as_unknown() {
        let kind: EventKind = serde_json::from_str("\"group_ended\"").expect("a kind");
        assert_eq!(kind, EventKind::Unknown);
    }
}
