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

/// What a job reads from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Nothing: it is at its end from the beginning.
    #[default]
    Null,
    /// A pipe that stays open until it is closed by request, or the job ends.
    Pipe,
    /// A terminal of its own, for output too.
    Pty(Size),
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub rows: u16,
    pub cols: u16,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a terminal size; write ROWSxCOLS, such as 30x120 (each from 1 to {max})",
    max = Size::MAX_SIDE
)]
pub struct BadSize(String);

impl Size {
    /// Larger screens are nobody's, and emulating them costs memory.
    pub const MAX_SIDE: u16 = 1000;
    pub const DEFAULT: Size = Size {
        rows: 30,
        cols: 120,
    };

    /// `30x120`.
    pub fn parse(text: &str) -> Result<Size, BadSize> {
        let side = |text: &str| {
            text.parse::<u16>()
                .ok()
                .filter(|side| (1..=Size::MAX_SIDE).contains(side))
        };
        text.split_once('x')
            .and_then(|(rows, cols)| {
                Some(Size {
                    rows: side(rows)?,
                    cols: side(cols)?,
                })
            })
            .ok_or_else(|| BadSize(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rows_by_columns() {
        assert_eq!(Size::parse("24x80"), Ok(Size { rows: 24, cols: 80 }));
        for bad in [
            "", "x", "24", "24x", "x80", "0x80", "24x1001", "-1x5", "24x80x2", "a x b",
        ] {
            assert!(Size::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
