//! What the verbs take besides ids: which jobs, which part, how long.
//!
//! A duration is a number of milliseconds in JSON.

use crate::label::Label;
use crate::log::Cursor;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only jobs of this session.
    pub session: Option<Label>,
    /// Only jobs of this task.
    pub task: Option<Label>,
    /// Only jobs in this state.
    pub state: StateFilter,
    /// At most this many ended ones.
    pub limit: usize,
}

/// The states of the jobs to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateFilter {
    /// Jobs that run.
    Running,
    /// Jobs that have ended.
    Ended,
    /// Both.
    #[default]
    All,
}

/// The options of a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Wait {
    /// What to wait for.
    pub what: WaitFor,
    /// Of which of several jobs.
    pub until: Until,
    /// At most this long; for ever if `None`.
    #[serde(rename = "timeout_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub timeout: Option<Duration>,
}

/// The event to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// The end.
    #[default]
    End,
    /// A process of the job waits for input, or the job ends.
    Input,
    /// The job is ready, or it ends.
    Ready,
    /// A match of its watch that was not told yet, or the end.
    Match,
    /// A silence that was not told yet, or the end.
    Quiet,
}

/// When the wait is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// Of all of them.
    #[default]
    All,
    /// Of one of them.
    Any,
}

/// The options of a stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Stop {
    /// The grace period; `None` for the job's own.
    #[serde(rename = "grace_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub grace: Option<Duration>,
    /// The caller, for the record.
    pub detail: Option<String>,
}

/// Which ended jobs to remove. A job is removed if any of these conditions holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Prune {
    /// Jobs that ended longer ago than this.
    #[serde(rename = "older_than_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub older_than: Option<Duration>,
    /// All jobs but the newest ones, this many.
    pub keep: Option<usize>,
    /// The oldest jobs, until the rest uses no more than this many bytes.
    pub max_size: Option<u64>,
    /// All that have ended.
    pub all: bool,
    /// Also jobs whose end was not told, and directories that cannot be read.
    pub force: bool,
}

/// The part to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The last so many lines.
    LastLines(u64),
    /// This many lines, starting with this one (numbered from 1).
    Lines {
        /// The number of the first line.
        from: u64,
        /// How many lines.
        count: u64,
    },
    /// These bytes.
    Bytes {
        /// The offset of the first byte.
        from: u64,
        /// The offset after the last byte; up to the end if `None`.
        to: Option<u64>,
    },
    /// What was written since an earlier look.
    After(Cursor),
    /// What was written in the last `since`, to the second; of that, the last lines.
    Since {
        /// How long ago.
        #[serde(rename = "age_ms", with = "crate::time::ms")]
        #[cfg_attr(feature = "schema", schemars(with = "Millis"))]
        age: Duration,
        /// How many lines at most.
        lines: Option<u64>,
    },
}
