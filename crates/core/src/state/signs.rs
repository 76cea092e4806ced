//! Whether a job was ready, what its watches found, and the attempts to ring its doorbells after it ended.

use super::Applied;
use crate::change::Changed;
use crate::event::{Event, Moment};
use serde_json::Value;

/// What the job showed while it ran, and the doorbells that rang because of its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    pub ready: Option<Moment>,
    /// The number of matching lines that were told.
    pub matches: u64,
    /// Where the watch resumes, from the newest event that says so.
    pub resume: Value,
    /// The watch turned itself off.
    pub watch_disabled: bool,
    /// A watch turned itself off once. Its session must then be told about the end.
    pub end_promised: bool,
    /// Each attempt to ring a doorbell, in order.
    pub rings: Vec<Ring>,
}

/// One attempt to ring a doorbell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    pub doorbell: String,
    pub attempt: u32,
    pub at: Moment,
    pub failure: Option<String>,
}

impl Signs {
    /// A new watch begins anew, where its event says.
    pub(super) fn rewatched(&mut self, changed: &Changed) {
        if changed.watch.is_some() {
            self.watch_disabled = false;
            self.resume = changed.resume.clone();
        }
    }

    pub(super) fn apply(&mut self, event: &Event, at: Moment) -> Applied {
        match event {
            Event::Matched(told) => {
                self.matches += told.count;
                self.resume = told.resume.clone();
            }
            Event::WatchDisabled { resume, .. } => {
                self.watch_disabled = true;
                self.end_promised = true;
                self.resume = resume.clone();
            }
            Event::WatchOverflow { resume, .. }
            | Event::WatchResumed { resume, .. }
            | Event::Quiet { resume, .. }
            | Event::AwaitingInput { resume, .. } => self.resume = resume.clone(),
            Event::Ready if self.ready.is_some() => return Applied::Ignored,
            Event::Ready => self.ready = Some(at),
            Event::Rung {
                doorbell,
                attempt,
                failure,
            } => self.rings.push(Ring {
                doorbell: doorbell.clone(),
                attempt: *attempt,
                at,
                failure: failure.clone(),
            }),
            Event::Accepted { .. }
            | Event::Kept { .. }
            | Event::NewStandby { .. }
            | Event::Spawned { .. }
            | Event::Started
            | Event::StopRequested(_)
            | Event::Gap { .. }
            | Event::Resized { .. }
            | Event::LogBase { .. }
            | Event::Changed(_)
            | Event::Ended(_)
            | Event::LingeringEnded(_)
            | Event::Closed { .. } => return Applied::Ignored,
        }
        Applied::Changed
    }
}
