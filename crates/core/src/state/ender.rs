//! What ended a job, and who asked for it.

use super::{Phase, State};
use crate::event::{StopCause, StopRequest};
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

    /// For a job that ends because of this request.
    pub fn of(request: &StopRequest) -> Ender {
        Ender {
            by: ended_by(request.by),
            detail: request.detail.clone(),
            session: request.session.clone(),
        }
    }
}

fn ended_by(stop: StopCause) -> EndedBy {
    match stop {
        StopCause::Stop => EndedBy::Stop,
        StopCause::Timeout => EndedBy::Timeout,
        StopCause::Place => EndedBy::Place,
        StopCause::Memory => EndedBy::Memory,
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
            Some(cause) => ended_by(cause),
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
