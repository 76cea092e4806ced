//! How a job ended, and what ended it.
//!
//! Code and signal stay apart, and not knowing is a value of its own ([`Outcome::Lost`]) that never
//! turns into a number.

use crate::label::Label;
use crate::signal::Signal;
use serde::{Deserialize, Serialize};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Exited {
        code: i32,
    },
    Signaled {
        signal: Signal,
        core_dumped: bool,
    },
    /// The command never ran.
    NotStarted {
        reason: String,
        cause: NotStarted,
    },
    /// It ended, or must have, and nobody can know how.
    Lost {
        reason: String,
    },
}

/// What kept a command from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// There is no such program.
    NotFound,
    /// There is one, and it cannot be executed; or not there.
    NotExecutable,
    /// The machine or Outlive itself failed before the command's turn came.
    Failed,
}

impl Outcome {
    /// The number a shell would give, or `None` where it is unknown.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Outcome::Exited { code } => Some(*code),
            Outcome::Signaled { signal, .. } => Some(128 + signal.linux_number()),
            Outcome::NotStarted { cause, .. } => Some(cause.exit_code()),
            Outcome::Lost { .. } => None,
        }
    }

    pub fn is_success(&self) -> bool {
        *self == Outcome::Exited { code: 0 }
    }
}

impl NotStarted {
    pub fn exit_code(self) -> i32 {
        match self {
            NotStarted::NotFound => 127,
            NotStarted::NotExecutable => 126,
            NotStarted::Failed => 125,
        }
    }
}

/// What ended a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    Itself,
    Stop,
    Timeout,
    Memory,
    /// A signal that Outlive did not send as part of a stop.
    Signal,
    /// The batch engine, container or terminal that it ran in asked for it.
    Place,
    Unknown,
}

/// What the job used: the leader and the descendants it waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub user_ms: u64,
    pub system_ms: u64,
    pub max_rss_bytes: u64,
}

/// Everything about an end; the journal holds it once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    pub ended_by: EndedBy,
    /// Who asked, where somebody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_detail: Option<String>,
    /// The session whose request it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_session: Option<Label>,
    /// From start to end on a clock that runs through suspend; unknown when the start or the end is.
    pub duration_ms: Option<u64>,
    pub output_bytes: u64,
    pub dropped_bytes: u64,
    /// `false` when it ended while nobody kept it: what it wrote last may be missing.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub output_complete: bool,
    /// Processes of the job that were still there when its leader had ended.
    pub lingering: u32,
    pub usage: Option<Usage>,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl End {
    /// An end that nobody saw happen, with what is left of the output.
    pub fn unseen(outcome: Outcome, output_bytes: u64, dropped_bytes: u64) -> End {
        let (ended_by, output_complete) = match outcome {
            Outcome::Lost { .. } => (EndedBy::Unknown, false),
            _ => (EndedBy::Itself, true),
        };
        End {
            output_complete,
            outcome,
            ended_by,
            ended_by_detail: None,
            ended_by_session: None,
            duration_ms: None,
            output_bytes,
            dropped_bytes,
            lingering: 0,
            usage: None,
        }
    }
}
