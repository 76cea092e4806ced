//! The attempts of a job that is restarted.

use crate::outcome::{EndedBy, Outcome};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One run of a job's command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// 1, 2, 3, …
    pub number: u32,
    /// When its command was executed; null if it was not.
    pub started_at: Option<Timestamp>,
    /// When it ended; null while it runs.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// The number that a shell would give; null if it is not known.
    pub exit_code: Option<i32>,
    /// What ended it.
    pub ended_by: Option<EndedBy>,
    /// Its part of the job's output.
    pub output: AttemptOutput,
}

/// Which bytes of a job's output belong to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptOutput {
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the last byte; null while more may come.
    pub to: Option<u64>,
}
