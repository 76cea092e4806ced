//! What the field `data` of an event holds, by the kind of the event.
//!
//! Every event of a job has these keys, and `command` and `name` of the job. What is not known is `null`. The
//! data of a `delegation` is whatever was posted.

use crate::input::InputKind;
use crate::outcome::{EndedBy, Outcome, Usage};
use crate::time::{Millis, Timestamp};
use serde::{Deserialize, Serialize};

/// The data of a job's event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfJob<D> {
    /// The command as a person would write it. Secrets are left out.
    pub command: String,
    /// The name of the job.
    pub name: Option<crate::label::Label>,
    /// What the kind of event adds.
    #[serde(flatten)]
    pub data: D,
}

/// `ended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// The number that a shell would give, if the outcome is known.
    pub exit_code: Option<i32>,
    /// What ended it.
    pub ended_by: EndedBy,
    /// Who asked for its end.
    pub ended_by_detail: Option<String>,
    /// How long it ran.
    pub duration_ms: Option<Millis>,
    /// How many of its processes still run.
    pub lingering: u32,
    /// What it wrote.
    pub output: EndedOutput,
    /// What it used.
    pub usage: Option<Usage>,
}

/// What a job had written when it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndedOutput {
    /// How many bytes.
    pub bytes: u64,
    /// How many of them were not kept.
    pub dropped_bytes: u64,
    /// `false` if it ended while no keeper ran: what it wrote last may be missing.
    pub complete: bool,
}

/// `lingering_ended`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LingeringEnded {
    /// How many processes the job had left behind.
    pub lingering: u32,
    /// What ended them.
    pub ended_by: EndedBy,
    /// When they were gone, if a keeper saw it.
    pub ended_at: Option<Timestamp>,
    /// How long after the job's end that was.
    pub after_ms: Option<Millis>,
    /// What the job and they wrote.
    pub output: LingeringOutput,
}

/// What a job and the processes that it left behind wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LingeringOutput {
    /// How many bytes in all.
    pub bytes: u64,
    /// How many of them after the job's end.
    pub bytes_since_end: u64,
}

/// `restarted`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Restarted {
    /// Which attempt has ended: 1, 2, 3, …
    pub attempt: u32,
    /// When the next one begins.
    pub next_attempt_at: Timestamp,
    /// How this one ended.
    pub outcome: Outcome,
    /// The number that a shell would give, if the outcome is known.
    pub exit_code: Option<i32>,
    /// What ended it.
    pub ended_by: EndedBy,
    /// How long it ran.
    pub duration_ms: Option<Millis>,
    /// The size of the job's output when it ended.
    pub output_bytes: u64,
}

/// `matched`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matched {
    /// The last line that matched, or its beginning.
    pub line: String,
    /// Where it begins in the output.
    pub offset: u64,
    /// Which pattern the last line matched, counted from 0. `null` if there are only inverted ones.
    pub pattern: Option<usize>,
    /// The pattern as it was given. `null` if there are only inverted ones, or if a keeper of the first release
    /// did not write it down.
    #[serde(default)]
    pub pattern_text: Option<String>,
    /// How many lines this event tells of.
    pub count: u64,
    /// The newest of these lines, at most 20, the oldest of them first. Long ones are cut.
    #[serde(default)]
    pub lines: Vec<String>,
    /// The lines were found in output from before the watch began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looked_back: bool,
}

/// `watch_disabled`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchDisabled {
    /// How many lines matched in all.
    pub matches: u64,
    /// How many of them no event told of.
    pub untold: u64,
}

/// `watch_overflow`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchOverflow {
    /// For how long the session's watches are silent.
    pub silence_ms: Millis,
}

/// `watch_resumed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchResumed {
    /// How many lines matched meanwhile.
    pub silenced: u64,
}

/// `quiet`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quiet {
    /// For how long the job has written nothing.
    pub after_ms: Millis,
}

/// `awaiting_input`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AwaitingInput {
    /// What kind of input is awaited.
    pub input_kind: InputKind,
}

/// `ready`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ready {}

/// `unreachable`: a place where jobs of the session run is not reached. Nothing is known about what became of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unreachable {
    /// The place.
    pub place: String,
    /// Since when it is not reached.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
    /// The jobs of the session that ran there when it was last heard from.
    pub jobs: Vec<crate::id::JobId>,
}

/// `reached`: a place of which the session was told that it is not reached is reached again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reached {
    /// The place.
    pub place: String,
    /// Since when it had not been reached.
    pub since: Timestamp,
    /// The jobs of the session that ran there when it was last heard from. What became of them is told as always.
    pub jobs: Vec<crate::id::JobId>,
}
