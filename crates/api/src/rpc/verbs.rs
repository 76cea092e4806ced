//! What the verbs take and answer that only `outlive rpc` has.

use crate::event_id::EventId;
use crate::id::JobId;
use crate::job::{Job, JobState};
use crate::label::Label;
use crate::log::LogLine;
use crate::request::Selector;
use crate::streams::Stream;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The text that a person calls a job by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// Its id, the beginning of its id, or its name.
    pub text: String,
    /// A name may also be that of a running job of another session.
    #[serde(default)]
    pub any_session: bool,
}

/// What `find` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// The job.
    pub job: JobId,
}

/// What `run` and `adopt` answer: the job as it was when its start was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// It ran already, and nothing was started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already: bool,
}

/// Which events to mark as told, of any session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct AckAny {
    /// Only those of this session; of any session if `None`.
    pub session: Option<Label>,
    /// These events.
    pub events: Vec<EventId>,
    /// Every event so far of these jobs and posts.
    pub jobs: Vec<JobId>,
    /// Every event that was delivered and not acknowledged.
    pub delivered: bool,
}

/// What `ack` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Acked {
    /// It is recorded, and synced to the disk. Always `true`.
    pub acked: bool,
}

/// Which output to follow. Each part is an [`OutputPart`]; the answer comes when the job has ended and all of it was
/// sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowOutput {
    /// The job.
    pub job: JobId,
    /// The offset of the first byte. After an interruption: the one after the last byte that arrived.
    #[serde(default)]
    pub from: u64,
    /// Only this stream, of a job that tells its streams apart. Offsets are those of the whole output.
    #[serde(default)]
    pub stream: Option<Stream>,
    /// Say of each part which stream it is of, if the job tells its streams apart.
    #[serde(default)]
    pub apart: bool,
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum OutputPart {
    /// The raw bytes after this line are output.
    Bytes {
        /// The offset of the first of them.
        at: u64,
        /// Their stream, if the streams are told apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<Stream>,
    },
    /// Output that was not kept.
    Dropped {
        /// Its first byte, and the byte after its last.
        dropped: [u64; 2],
    },
}

/// How an output that was followed ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputEnd {
    /// The job, which has ended.
    pub job: Job,
    /// The offset after the last byte.
    pub at: u64,
}

/// Lines of an output: a part of the answer to `log` line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinesPart {
    /// The lines.
    pub lines: Vec<LogLine>,
}

/// What `log` line by line or piece by piece answers after its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogRead {
    /// The job.
    pub id: JobId,
    /// The offset after the last byte that was read.
    pub at: u64,
    /// How far the job had come when its output was read.
    pub state: JobState,
    /// The number that a shell would give for its end. `null` while it runs, and if the outcome is unknown.
    pub exit_code: Option<i32>,
}

/// Whose events to deliver as they come. Each part is an event, claimed for this connection: when the connection
/// ends, what was not acknowledged is due again at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FollowEvents {
    /// Those of these sessions; of every session if `None`.
    pub sessions: Option<Vec<Label>>,
    /// Only look: claim nothing. Each event comes once.
    pub peek: bool,
    /// How long an event is held back from others before it is delivered again. Without it, as configured.
    #[serde(rename = "claim_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub claim: Option<Duration>,
}

/// Which jobs to watch for changes. Each part is a [`JobChange`]: first those that there are, then each change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FollowJobs {
    /// Only jobs that this selects.
    #[serde(flatten)]
    pub select: Selector,
    /// At the beginning, also so many of the newest ended ones.
    pub ended: usize,
}

/// Whose usage to follow. Each part is a `UsageSample`; the answer is the job, and comes when it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowUsage {
    /// The job.
    pub job: JobId,
    /// How often to look at it; every second if `None`.
    #[serde(default, rename = "every_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub every: Option<Duration>,
}

/// The place that a request is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OfPlace {
    /// Its name in the configuration, or its address.
    pub place: String,
}

/// Which place to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RemovePlace {
    /// Its name in the configuration, or its address.
    pub place: String,
    /// Remove it in any case. The outcome of jobs that are not over becomes `lost`; they may still run there.
    #[serde(default)]
    pub forget: bool,
}

/// A sandbox that the harness has, and lends as the place `caller:NAME`. Each part is a [`LendPart`]; it is lent until the
/// request is cancelled or the connection ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LendPlace {
    /// Its name.
    pub name: Label,
    /// Commands can have a standard input.
    #[serde(default)]
    pub input: bool,
    /// One command is executed at a time, and keeps the sandbox from everything else.
    #[serde(default)]
    pub serial: bool,
}

/// What the harness is told about a sandbox that it lends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LendPart {
    /// It is lent from now on.
    Lent {
        /// The place: `caller:NAME`.
        place: String,
    },
    /// Execute this, and answer.
    Execute {
        /// The number of the command.
        id: u64,
        /// For a shell of the sandbox.
        command: String,
        /// The standard input of the command, if that was offered. It may be a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<String>,
        /// After this time it may be ended.
        timeout_ms: u64,
    },
    /// Nobody waits for this command any more. It may be ended, and needs no answer.
    Cancel {
        /// The number of the command.
        id: u64,
    },
}

/// Which places to reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CheckPlaces {
    /// These; without any, all that are configured.
    pub places: Vec<String>,
}

/// A change in a list of jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum JobChange {
    /// The job is new, or something that its record says has changed. What it writes and uses changes all the time
    /// and is no change here.
    Job {
        /// The job.
        job: Box<Job>,
    },
    /// The job was removed.
    Gone {
        /// Its id.
        gone: JobId,
    },
    /// All jobs that there were at the beginning have been sent.
    Current {
        /// Always `true`.
        current: bool,
    },
}
