//! A job as every face shows it.

mod details;

pub use details::{Details, Told, ToldBy, ToldState};

use crate::adopted::AdoptedProcess;
use crate::attempt::Attempt;
use crate::failure::Unreachable;
use crate::id::JobId;
use crate::input::InputKind;
use crate::label::Label;
use crate::limits::JobLimits;
use crate::os_text::OsText;
use crate::outcome::{EndedBy, Outcome, Usage};
use crate::restart::Restart;
use crate::streams::Streams;
use crate::time::{Millis, Timestamp};
pub use crate::waiting::WaitingFor;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One job now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// A name that somebody gave it.
    pub name: Option<Label>,
    /// The session that it belongs to, which is told of its events.
    pub session: Option<Label>,
    /// The unit of work that it belongs to.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub task: Option<Label>,
    /// Where it runs: `local`, or the place that it was started at.
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = ["local"])))]
    pub place: String,
    /// The command as a person would write it.
    pub command: String,
    /// What is executed. Bytes that are not UTF-8 are replaced.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub argv: Vec<String>,
    /// The directory that it was started in.
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub cwd: String,
    /// It has a terminal of its own.
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true, "x-usual" = [false])))]
    pub pty: bool,
    /// Whether its standard output and standard error are told apart. Absent if they are merged.
    #[serde(default, skip_serializing_if = "Streams::is_merged")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub streams: Streams,
    /// How far it has come.
    pub state: JobState,
    /// The number of its first process. After its end, another process may have the number.
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub pid: Option<i32>,
    /// When it was started.
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub ended_at: Option<Timestamp>,
    /// How long it ran, or has run so far. Time during suspend counts.
    pub duration_ms: Option<Millis>,
    /// How it ended.
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = [{"kind": "exited"}, {"kind": "signaled"}])))]
    pub outcome: Option<Outcome>,
    /// The number that a shell would give. Absent while it runs, and if the outcome is unknown.
    pub exit_code: Option<i32>,
    /// What ended it.
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = ["itself"])))]
    pub ended_by: Option<EndedBy>,
    /// Who asked for its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub ended_by_detail: Option<String>,
    /// How many of its processes still run after its end. `stop` reaches them. Absent if its keeper did not say.
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = [0])))]
    pub lingering: Option<u32>,
    /// What it has written.
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = [{"dropped_bytes": 0, "complete": true}])))]
    pub output: JobOutput,
    /// Whether one of its processes waits for input. Absent if its keeper did not say.
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = [false])))]
    pub awaiting_input: Option<bool>,
    /// What kind of input is awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_kind: Option<InputKind>,
    /// Whether it is ready for use. Absent if it was started without a sign of readiness.
    pub ready: Option<bool>,
    /// What it was asked for, and whether anybody knows of its end.
    #[serde(flatten)]
    pub details: Details,
    /// What it waits for before it can be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// When its command is run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub restart: Option<Restart>,
    /// Which attempt runs, or ended last: 1, 2, 3, … Absent for a job that is not restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// When the next attempt begins, while it waits for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// Why no further attempt followed, if the restart rule alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_restarted: Option<String>,
    /// Its newest attempts, the oldest of them first. Only `show` fills this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub attempts: Vec<Attempt>,
    /// How many lines matched its watch and were told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches: Option<u64>,
    /// The state of its doorbells, once it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub doorbells: Vec<DoorbellStatus>,
    /// What it may use at most, if that was limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub limits: Option<JobLimits>,
    /// What it used, once it has ended. While it runs, what it uses now, if that was asked for.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub usage: Option<Usage>,
    /// Somebody else had started it, and it became a job while it ran. Its output is not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted: Option<AdoptedProcess>,
    /// Its first process is suspended, by SIGSTOP or Ctrl-Z for example.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// When its place was last heard from. Absent for a job that runs here, and for one of which everything is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-in-detail" = true)))]
    pub heard_at: Option<Timestamp>,
    /// Why it cannot be reached from this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Unreachable>,
    /// What its record says, if it cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastKnown>,
    /// Its keeper exists but did not answer in time. It may be suspended, or the machine is very busy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeper_silent: bool,
}

impl Job {
    /// Whether it has ended. Processes of it may still run (see [`Job::lingering`]).
    pub fn has_ended(&self) -> bool {
        self.outcome.is_some()
    }
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits for a lock, for its turn in a queue, for the end of other jobs, or for the time of its next attempt.
    Waiting,
    /// Its command has not been executed yet.
    Starting,
    /// Its command runs.
    Running,
    /// It is being stopped.
    Stopping,
    /// Its first process has ended, or its command could not be executed.
    Ended,
    /// Its host cannot be asked now. `last` says what was known.
    Unreachable,
}

impl JobState {
    /// The word for it in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Starting => "starting",
            JobState::Running => "running",
            JobState::Stopping => "stopping",
            JobState::Ended => "ended",
            JobState::Unreachable => "unreachable",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a job has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobOutput {
    /// How many bytes.
    pub bytes: u64,
    /// How many of them were not kept.
    pub dropped_bytes: u64,
    /// How many of those were dropped because the job wrote more than was to be kept. The others could not be
    /// kept, on a full disk for example.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub dropped_by_limit_bytes: u64,
    /// `false` if it ended while no keeper ran: what it wrote last may be missing.
    #[serde(default = "yes")]
    pub complete: bool,
    /// The file here with its first part. Null for a job of a place, whose output is there.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub path: Option<OsText>,
    /// The file at the place of the job, if it is one of a place and was started there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub path_there: Option<OsText>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn yes() -> bool {
    true
}

/// The last thing that is known of a job that cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LastKnown {
    /// The state it was in.
    pub state: JobState,
    /// How many bytes it had written; null if its place has not said that.
    pub output_bytes: Option<u64>,
}

/// The state of a doorbell of an ended job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoorbellStatus {
    /// The name of the doorbell.
    pub name: String,
    /// Whether it rang.
    pub state: DoorbellState,
    /// How often it was tried.
    pub attempts: usize,
    /// Why the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Whether a doorbell rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DoorbellState {
    /// It rang.
    Rung,
    /// It will be rung, or tried again.
    Waiting,
    /// It failed too often, or nobody could ring it.
    GivenUp,
}

/// A job and the end of its output: what `show` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobView {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// The last lines of its output.
    #[serde(default)]
    pub preview: String,
}

/// Several jobs: what `list` answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobList {
    /// Running jobs first, then ended ones, the newest end first. `wait` and `stop` keep the order that was
    /// asked for.
    pub jobs: Vec<Job>,
}

/// Jobs with the ends of their outputs: what `list` with a preview answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobViews {
    /// Running jobs first, then ended ones, the newest end first.
    pub jobs: Vec<JobView>,
}

/// A job and the end of its output, as much as was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobTail {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// The end of its output as text, in whole lines if possible.
    #[serde(default)]
    pub tail: String,
}
