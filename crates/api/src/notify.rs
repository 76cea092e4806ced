//! Which ends are told, and what becomes of processes that a job leaves behind.

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// Of which ends the session is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    /// Every end.
    #[default]
    End,
    /// Every end that is not a success. An unknown outcome is not one.
    Failure,
    /// No end.
    Never,
}

/// What becomes of processes that still run when the job's first process has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Leftovers {
    /// They run on.
    #[default]
    Keep,
    /// They are stopped.
    Stop,
}

/// For which ends a doorbell rings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RingsOn {
    /// Every end.
    #[default]
    End,
    /// Every end that is not a success. An unknown outcome is not one.
    Failure,
}

impl RingsOn {
    /// The word for it in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            RingsOn::End => "end",
            RingsOn::Failure => "failure",
        }
    }

    /// Whether it rings for this outcome.
    pub fn rings_for(self, outcome: &Outcome) -> bool {
        match self {
            RingsOn::End => true,
            RingsOn::Failure => !outcome.is_success(),
        }
    }
}
