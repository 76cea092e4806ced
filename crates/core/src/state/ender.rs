//! What ended a job, and who asked for it.

use super::{Phase, State};
use crate::event::StopCause;
use crate::label::Label;
use crate::outcome::EndedBy;

/// What ended a job, and who requested it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ender {
    pub by: EndedBy,
    pub detail: Option<String>,
    pub session: Option<Label>,
}

impl Ender {
    /// For a job whose end nobody saw.
    pub fn unknown() -> Ender {
        Ender {
            by: EndedBy::Unknown,
            detail: None,
            session: None,
        }
    }
}

impl State {
    /// What ends a job whose leader ends in this phase, and who requested it. `by_signal` says that a
    /// signal ended the leader.
    pub fn ended_by(&self, by_signal: bool) -> Ender {
        if let Some(ender) = self.ended_by_in_pause() {
            return ender;
        }
        let stop = match &self.phase {
            Phase::Stopping(_, stop) => Some(stop),
            _ => self.early_stop.as_ref(),
        };
        let by = match stop.map(|stop| stop.by) {
            Some(StopCause::Stop) => EndedBy::Stop,
            Some(StopCause::Timeout) => EndedBy::Timeout,
            Some(StopCause::Place) => EndedBy::Place,
            Some(StopCause::Memory) => EndedBy::Memory,
            None if by_signal => EndedBy::Signal,
            None => EndedBy::Itself,
        };
        Ender {
            by,
            detail: stop.and_then(|stop| stop.detail.clone()),
            session: stop.and_then(|stop| stop.session.clone()),
        }
    }
}
