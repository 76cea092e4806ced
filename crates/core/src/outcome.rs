//! Everything that a journal says about an end.

pub use outlive_api::outcome::{EndedBy, NotStarted, Outcome, Usage};

use crate::label::Label;
use serde::{Deserialize, Serialize};

/// Everything about an end. The journal holds it once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    pub ended_by: EndedBy,
    /// Who requested the stop, if anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_detail: Option<String>,
    /// The session that requested the stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by_session: Option<Label>,
    /// From start to end, including suspended time; `None` if either moment is unknown.
    pub duration_ms: Option<u64>,
    pub output_bytes: u64,
    pub dropped_bytes: u64,
    /// `false` if no keeper was there at the end: the last output may be missing.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub output_complete: bool,
    /// The processes of the job that still ran when its leader ended.
    pub lingering: u32,
    pub usage: Option<Usage>,
    /// Which attempt was the last, if it was not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Why no further attempt followed, if the job's rule for restarts does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_restarted: Option<String>,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl End {
    /// An end that nobody saw, with the output that is left.
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
            attempt: None,
            not_restarted: None,
        }
    }
}
