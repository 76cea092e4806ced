//! The request that made a job: written once when the job is accepted, and never changed.
//!
//! It does not contain the environment, which the keeper inherits and nobody writes to disk.

use crate::bound::Bound;
use crate::breaker::BreakerRules;
use crate::defaults::{STILL, milliseconds};
use crate::doorbell::Doorbell;
use crate::event_id::EventId;
use crate::id::JobId;
use crate::incarnation::Incarnation;
use crate::label::Label;
use crate::labels::Labels;
use crate::os_text::OsText;
use crate::ready::Ready;
use crate::watch::Watch;
pub use outlive_api::input::Input;
pub use outlive_api::notify::{Leftovers, Notify};
pub use outlive_api::terminal::{BadSize, Size};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The newest format this program writes. From a newer spec, it reads the fields it knows.
pub const FORMAT: u32 = 1;

/// The request that made a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub format: u32,
    pub id: JobId,
    /// Tells this job from other jobs with the same id. The first release did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    /// As it was started with: see [`crate::State::labels`].
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    pub place: String,
    /// The command as a person would write it, or the text that the caller gave in its place.
    pub command: String,
    /// The command with everything that looks like a credential removed. Set only if it differs and a
    /// doorbell receives it: keepers ring the doorbells, but cannot redact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted_command: Option<String>,
    pub argv: Vec<OsText>,
    pub cwd: OsText,
    /// Where the job's standard input comes from.
    #[serde(default)]
    pub input: Input,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    pub grace_ms: u64,
    /// How many bytes of output are kept; `None` keeps everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// As it was started with: see [`crate::State::notify`].
    pub notify: Notify,
    /// Which lines of the output are told while it runs, as it was started: see [`crate::State::watch`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<Watch>,
    #[serde(default)]
    pub breaker: BreakerRules,
    /// A line without a newline counts as a match after the output has paused for this long.
    #[serde(default = "default_still_ms")]
    pub still_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// A pause of this length in the output is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_after_ms: Option<u64>,
    /// At most one running job holds this lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Label>,
    /// Commands that run when it has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doorbells: Vec<Doorbell>,
    pub leftovers: Leftovers,
    /// A file of the caller that the output is also appended to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<OsText>,
    /// The command that prevents sleep while the job runs, if requested and available.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_awake: Vec<OsText>,
}

impl Spec {
    /// The limit on kept output; `None` keeps everything.
    pub fn bound(&self) -> Option<Bound> {
        self.max_output.map(Bound::new)
    }

    /// The id of an event of this job.
    pub fn event(&self, seq: u64) -> EventId {
        EventId {
            source: self.id.clone(),
            seq,
            incarnation: self.incarnation.clone(),
        }
    }

    /// The range that an output of this size drops because of the limit.
    pub fn dropped(&self, size: u64) -> Range<u64> {
        self.bound().map_or(0..0, |bound| bound.dropped(size))
    }
}

fn default_still_ms() -> u64 {
    milliseconds(STILL)
}
