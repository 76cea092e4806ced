//! What was asked: written once when a job is accepted, never changed.
//!
//! The environment is not in here: it is inherited by the keeper and never written down.

use crate::id::JobId;
use crate::label::Label;
use crate::os_text::OsText;
use serde::{Deserialize, Serialize};

/// The newest format this program writes. A newer spec is read as far as it can be.
pub const FORMAT: u32 = 1;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub format: u32,
    pub id: JobId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    pub place: String,
    /// The command as a person would write it.
    pub command: String,
    pub argv: Vec<OsText>,
    pub cwd: OsText,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub grace_ms: u64,
    pub notify: Notify,
    pub leftovers: Leftovers,
    /// A file of the caller's that the output is appended to as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<OsText>,
    /// The command that holds off sleep while it runs, where one was asked for and found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_awake: Vec<OsText>,
}

/// When the session is to be told of the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    #[default]
    End,
    Failure,
    Never,
}

/// What becomes of processes that outlive the leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leftovers {
    #[default]
    Keep,
    Stop,
}
