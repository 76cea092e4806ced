//! What the verbs answer, apart from jobs, events and output.

use crate::event::Event;
use crate::event_id::EventId;
use crate::failure::Failure;
use crate::id::JobId;
use crate::job::{Job, JobTail};
use crate::notify::RingsOn;
use crate::os_text::OsText;
use crate::signal::Signal;
use crate::terminal::Size;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What `wait` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitReply {
    /// The jobs, in the order asked for, whether they have ended or not.
    pub jobs: Vec<Job>,
    /// What came, if there is more to say of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The jobs for which it came, if it is not their end. The command line says this by its exit code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub met: Vec<JobId>,
    /// The time was up first, and the jobs go on. The command line says this by its exit code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_time: bool,
}

/// What `stop` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopReply {
    /// The jobs that were stopped or had ended, in the order asked for.
    pub jobs: Vec<Job>,
    /// The jobs that could not be stopped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<StopFailure>,
}

/// What `signal` answers for several jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalsReply {
    /// One answer for each job that was reached.
    pub signals: Vec<SignalReply>,
    /// The jobs that could not be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<StopFailure>,
}

/// What `wait` with a tail answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitTailReply {
    /// The jobs, in the order asked for, whether they have ended or not.
    pub jobs: Vec<JobTail>,
    /// What came, if there is more to say of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

/// A job that could not be stopped or signalled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopFailure {
    /// The job.
    pub id: JobId,
    /// Why.
    pub error: Failure,
}

/// What `send` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SendReply {
    /// The job.
    pub id: JobId,
    /// The job's keeper has accepted the input. Always `true`.
    pub sent: bool,
    /// Whether a write with the same id was accepted before, so that nothing was written now. `null` if nobody
    /// knows.
    pub repeated: Option<bool>,
}

/// What `signal` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignalReply {
    /// The job.
    pub id: JobId,
    /// The signal.
    pub signal: Signal,
    /// How many processes got it.
    pub reached: u32,
    /// How many processes belong to another user and did not get it.
    pub denied: u32,
}

/// What `resize` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResizeReply {
    /// The job.
    pub id: JobId,
    /// The new size of its terminal.
    #[serde(flatten)]
    pub size: Size,
}

/// What `post` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PostReply {
    /// The event that the session is told.
    pub event: EventId,
    /// `false` if it had been posted before.
    pub posted: bool,
}

/// What `prune` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PruneReply {
    /// Jobs that were removed.
    pub removed: Vec<JobId>,
    /// Posts that were removed.
    pub removed_posts: Vec<JobId>,
    /// How much room they took.
    pub freed_bytes: u64,
    /// Jobs and posts that were kept because their session has not been told of them.
    pub untold: Vec<JobId>,
    /// Jobs that were kept because a keeper was still there, somebody read them, or a doorbell was still to be
    /// rung.
    pub busy: Vec<JobId>,
    /// Jobs and posts that could not be removed.
    pub failed: Vec<JobId>,
    /// Directories of removed jobs and posts that could not be deleted.
    pub left_behind: Vec<OsText>,
    /// Events that nobody will be told, because their jobs or posts were removed.
    pub dropped: Vec<EventId>,
    /// Jobs that were kept because they cannot be read.
    pub unreadable: Vec<JobId>,
}

/// What `session end` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionEndReply {
    /// How many events were dropped.
    pub dropped: usize,
    /// How many events still wait.
    pub kept: usize,
    /// Jobs that were stopped.
    pub stopped: Vec<JobId>,
    /// Jobs that still run.
    pub still_running: Vec<JobId>,
}

/// What `doctor` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorReply {
    /// Everything that was looked at.
    pub checks: Vec<Check>,
}

impl DoctorReply {
    /// Whether jobs cannot be run here.
    pub fn is_broken(&self) -> bool {
        let mut verdicts = self.checks.iter().map(|check| check.verdict);
        verdicts.any(|verdict| verdict == Verdict::Broken)
    }
}

/// One thing that `doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What was looked at.
    pub name: Cow<'static, str>,
    /// Whether it is as it should be.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What follows for jobs.
    pub means: Cow<'static, str>,
}

/// Whether a thing that `doctor` looked at is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is.
    Good,
    /// Jobs run, with less than the full promise.
    Less,
    /// Jobs cannot be run.
    Broken,
}

/// What `doorbell list` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoorbellList {
    /// The configuration file, if there is one.
    pub file: Option<OsText>,
    /// The doorbells in it.
    pub doorbells: Vec<DoorbellInfo>,
}

/// A configured doorbell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoorbellInfo {
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: DoorbellKind,
    /// For which ends it rings.
    pub on: RingsOn,
    /// What it reaches, without secrets.
    pub target: String,
}

/// What kind of doorbell it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DoorbellKind {
    /// It posts the event to a URL.
    Webhook,
    /// It shows a notice on this machine's desktop.
    Desktop,
    /// It runs a command.
    Command,
}

impl DoorbellKind {
    /// The word for it in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            DoorbellKind::Webhook => "webhook",
            DoorbellKind::Desktop => "desktop",
            DoorbellKind::Command => "command",
        }
    }
}

/// What `doorbell test` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoorbellTestReply {
    /// The name of the doorbell.
    pub name: String,
    /// It rang. Always `true`: otherwise the answer is a failure.
    pub rung: bool,
}
