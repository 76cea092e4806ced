//! How a job ended, and what ended it.
//!
//! Exit code and signal stay apart. An unknown outcome is a value of its own ([`Outcome::Lost`]) that never
//! becomes a number.

use crate::signal::Signal;
use serde::{Deserialize, Serialize};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// It exited.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// A signal ended it.
    Signaled {
        /// That signal.
        signal: Signal,
        /// The kernel dumped its memory.
        #[serde(default)]
        core_dumped: bool,
    },
    /// The command never ran.
    NotStarted {
        /// Why, in words.
        reason: String,
        /// Why, for programs.
        #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
        cause: NotStarted,
    },
    /// It has ended, but nobody can know how.
    Lost {
        /// Why nobody knows.
        reason: String,
    },
}

/// What prevented the command from running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// The program does not exist.
    NotFound,
    /// The program exists but cannot be executed, or its working directory cannot be used.
    NotExecutable,
    /// The machine or Outlive failed before the command could run.
    Failed,
}

impl Outcome {
    /// The exit code that a shell would report; `None` if it is unknown.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Outcome::Exited { code } => Some(*code),
            Outcome::Signaled { signal, .. } => Some(128 + signal.linux_number()),
            Outcome::NotStarted { cause, .. } => Some(cause.exit_code()),
            Outcome::Lost { .. } => None,
        }
    }

    /// Whether it exited with 0.
    pub fn is_success(&self) -> bool {
        *self == Outcome::Exited { code: 0 }
    }
}

impl NotStarted {
    /// The number that a shell would give.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// It ended by itself.
    Itself,
    /// Somebody asked Outlive to stop it.
    Stop,
    /// Its time was up.
    Timeout,
    /// It was out of memory.
    Memory,
    /// A signal that Outlive did not send as part of a stop.
    Signal,
    /// The batch engine, container or terminal that it ran in requested the stop.
    Place,
    /// Nobody knows.
    Unknown,
}

/// The resources that a job used or uses.
///
/// At the end, the first three are those of the leader and the descendants that it waited for. While the job runs,
/// they are those of all its processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Processor time in user mode.
    pub user_ms: u64,
    /// Processor time in the kernel.
    pub system_ms: u64,
    /// The most memory that one of them had.
    pub max_rss_bytes: u64,
    /// The memory of all its processes now. Without a control group of its own, memory that several processes share
    /// counts for each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The most memory that all its processes had together, with the files that the kernel cached for them. Known if
    /// it has a control group of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// Read from disks. Without a control group of its own, processes that have ended do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Written to disks, counted as `read_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// How many processes run now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
}
