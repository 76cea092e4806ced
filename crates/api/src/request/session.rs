//! `session end`

use super::Stop;
use serde::{Deserialize, Serialize};

/// How to close a session: nobody will read its inbox again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct EndSession {
    /// What happens to waiting events.
    pub waiting: Waiting,
    /// What happens to jobs that still run.
    pub running: Running,
}

/// What happens to waiting events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// They stay in the inbox.
    #[default]
    Keep,
    /// They are dropped, and so are those that its running jobs will still produce.
    Drop,
}

/// What happens to jobs that still run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Running {
    /// They keep running, and their ends are told or dropped like other events.
    #[default]
    Leave,
    /// They are stopped.
    Stop(Stop),
}
