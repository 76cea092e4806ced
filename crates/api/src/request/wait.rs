//! `wait`

#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
