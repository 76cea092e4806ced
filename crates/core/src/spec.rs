//! What was asked: written once when a job is accepted, never changed.
//!
//! The environment is not in here: it is inherited by the keeper and never written down.

use crate::bound::Bound;
use crate::breaker::BreakerRules;
use crate::doorbell::Doorbell;
use crate::event_id::EventId;
use crate::id::JobId;
use crate::incarnation::Incarnation;
use crate::label::Label;
use crate::os_text::OsText;
use crate::ready::Ready;
use crate::watch::Watch;
pub use outlive_api::input::Input;
pub use outlive_api::notify::{Leftovers, Notify};
pub use outlive_api::terminal::{BadSize, Size};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The newest format this program writes. A newer spec is read as far as it can be.
pub const FORMAT: u32 = 1;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub format: u32,
    pub id: JobId,
    /// Tells this job from an earlier or later one of the same id. The first release wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    pub place: String,
    /// The command as a person would write it.
    pub command: String,
    /// The same without what looks like a credential, where that differs and a doorbell is told of it: keepers, which
    /// ring, cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted_command: Option<String>,
    pub argv: Vec<OsText>,
    pub cwd: OsText,
    /// What it reads from.
    #[serde(default)]
    pub input: Input,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub grace_ms: u64,
    /// How much of the output is kept; everything where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    pub notify: Notify,
    /// What of its output is told while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    #[serde(default)]
    pub breaker: BreakerRules,
    /// An unfinished line counts once the output has been still for so long.
    #[serde(default = "default_still_ms")]
    pub still_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// Silence of this length is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_after_ms: Option<u64>,
    /// Only one job at a time has this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Label>,
    /// What is run when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doorbells: Vec<Doorbell>,
    pub leftovers: Leftovers,
    /// A file of the caller's that the output is appended to as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<OsText>,
    /// The command that holds off sleep while it runs, where one was asked for and found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_awake: Vec<OsText>,
}

impl Spec {
    /// How much of the output is kept; `None` for all of it.
    pub fn bound(&self) -> Option<Bound> {
        self.max_output.map(Bound::new)
    }

    /// The name of one of this job's events.
    pub fn event(&self, seq: u64) -> EventId {
        EventId {
            source: self.id.clone(),
            seq,
            incarnation: self.incarnation.clone(),
        }
    }

    /// What is dropped of an output of this size because it is more than was to be kept.
    pub fn dropped(&self, size: u64) -> Range<u64> {
        self.bound().map_or(0..0, |bound| bound.dropped(size))
    }
}

/// Programs that ask write a prompt in one go; a moment later it is all there.
pub const DEFAULT_STILL_MS: u64 = 200;

fn default_still_ms() -> u64 {
    DEFAULT_STILL_MS
}
