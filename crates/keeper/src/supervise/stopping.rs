//! Stopping the job: on request, at its timeout, and what is left of it after its end.
//!
//! ```text
//! None ─request─► Requested ─journaled or not─► UnderWay ─nothing left─► Over
//!   └──────the job has ended and leaves processes──►┘ ◄─another request───┘
//! ```
//! A request is journaled before the first signal. If the disk refuses it, the job is stopped all the same, and the
//! request is journaled before the end is.

use crate::clock;
use crate::hooks::Hook;
use crate::supervise::escalation::Escalation;
use crate::supervise::keeper::Keeper;
use crate::supervise::memory;
use outlive_core::event::{Event, Moment, StopCause, StopRequest};
use outlive_core::outcome::EndedBy;
use outlive_core::{BootTime, Input, Leftovers, Millis, Phase};
use std::io;

/// How far stopping the job has come.
#[derive(Debug, Default)]
pub(crate) enum Stop {
    #[default]
    None,
    /// A stop was requested. This loop has signalled no process yet; the guard may have, if a disk held the loop up.
    Requested { unwritten: Option<Unwritten> },
    /// The job's processes are being ended.
    UnderWay(UnderWay),
    /// Nothing is left that can be reached.
    Over { doorbells: Doorbells },
}

/// A stop request that is not in the journal yet.
#[derive(Debug)]
pub(crate) struct Unwritten {
    at: Moment,
    request: StopRequest,
}

/// A stop that has begun.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub escalation: Escalation,
    unwritten: Option<Unwritten>,
    /// An earlier stop was completed.
    is_repeated: bool,
    doorbells: Doorbells,
}

/// What becomes of doorbells that have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Doorbells {
    #[default]
    Retried,
    /// Somebody stopped the job after its end, so they are not tried again.
    GivenUp,
}

impl Stop {
    pub fn escalation(&mut self) -> Option<&mut Escalation> {
        match self {
            Stop::UnderWay(stop) => Some(&mut stop.escalation),
            Stop::None | Stop::Requested { .. } | Stop::Over { .. } => None,
        }
    }

    /// When the stop under way is to be advanced.
    pub fn deadline(&self) -> Option<BootTime> {
        match self {
            Stop::UnderWay(stop) => stop.escalation.deadline(),
            Stop::None | Stop::Requested { .. } | Stop::Over { .. } => None,
        }
    }

    pub fn is_under_way(&self) -> bool {
        matches!(self, Stop::UnderWay(_))
    }

    /// Whether a stop is over. Another one may be under way.
    pub fn was_completed(&self) -> bool {
        match self {
            Stop::Over { .. } => true,
            Stop::UnderWay(stop) => stop.is_repeated,
            Stop::None | Stop::Requested { .. } => false,
        }
    }

    pub fn gives_up_doorbells(&self) -> bool {
        let doorbells = match self {
            Stop::Over { doorbells } => *doorbells,
            Stop::UnderWay(stop) => stop.doorbells,
            Stop::None | Stop::Requested { .. } => Doorbells::Retried,
        };
        doorbells == Doorbells::GivenUp
    }

    /// Whether a request could not be journaled yet.
    fn is_unwritten(&self) -> bool {
        self.unwritten_request().is_some()
    }

    /// A request that could not be journaled yet.
    pub fn unwritten_request(&self) -> Option<&StopRequest> {
        let unwritten = match self {
            Stop::Requested { unwritten } => unwritten.as_ref(),
            Stop::UnderWay(stop) => stop.unwritten.as_ref(),
            Stop::None | Stop::Over { .. } => None,
        };
        unwritten.map(|unwritten| &unwritten.request)
    }

    /// Whether such a request ends the job, and not only an attempt.
    pub fn ends_job(&self) -> bool {
        self.unwritten_request()
            .is_some_and(|request| request.by.ends_job())
    }

    /// Where a request is kept until it is journaled.
    fn unwritten(&mut self) -> Option<&mut Option<Unwritten>> {
        match self {
            Stop::Requested { unwritten } => Some(unwritten),
            Stop::UnderWay(stop) => Some(&mut stop.unwritten),
            Stop::None | Stop::Over { .. } => None,
        }
    }

    /// Remembers a request until it is journaled. If an earlier one is not journaled yet, that one is kept, unless it
    /// was a timeout, which may end less.
    fn request(&mut self, at: Moment, request: StopRequest) {
        if let Stop::None | Stop::Over { .. } = self {
            *self = Stop::Requested { unwritten: None };
        }
        if let Some(unwritten) = self.unwritten() {
            match unwritten {
                Some(earlier) if earlier.request.by.ends_job() => {}
                _ => *unwritten = Some(Unwritten { at, request }),
            }
        }
    }

    /// Begins to end the processes.
    fn begin(&mut self, escalation: Escalation, doorbells: Doorbells) {
        let is_repeated = self.was_completed();
        let doorbells = match self.gives_up_doorbells() {
            true => Doorbells::GivenUp,
            false => doorbells,
        };
        let unwritten = self.unwritten().and_then(Option::take);
        *self = Stop::UnderWay(UnderWay {
            escalation,
            unwritten,
            is_repeated,
            doorbells,
        });
    }

    /// Nothing is left that can be reached.
    pub fn complete(&mut self) {
        if let Stop::UnderWay(stop) = self {
            let doorbells = stop.doorbells;
            *self = Stop::Over { doorbells };
        }
    }
}

impl Keeper<'_> {
    /// When a running job reaches its timeout.
    pub(crate) fn timeout_at(&self) -> Option<BootTime> {
        match &self.job.state().phase {
            // It is being stopped, although that could not be journaled.
            Phase::Running(_) if self.stop.is_unwritten() => None,
            Phase::Running(leader) => Some(leader.since.boot + Millis(self.job.spec().timeout_ms?)),
            _ => None,
        }
    }

    /// Stops a job that has reached its timeout.
    pub(crate) fn time_out(&mut self) -> io::Result<()> {
        self.stop(StopRequest {
            by: StopCause::Timeout,
            detail: None,
            grace_ms: self.job.spec().grace_ms,
            session: None,
        })
    }

    pub(crate) fn stop(&mut self, request: StopRequest) -> io::Result<()> {
        // The grace period begins now, even if it takes long to journal the request.
        let at = clock::moment();
        let kill_at = at.boot + Millis(request.grace_ms);
        let guard = self.set_guard(Millis(request.grace_ms).into());
        // A job that ended before it was asked to has ended by itself. Even if that end cannot be recorded, everything
        // is stopped.
        let recorded = self.look_at_leader();
        let has_ended = recorded.is_err() && self.end.is_unrecorded();
        self.job.reach(Hook::StopAsked);
        // The doorbells of a job that has ended are given up, and nothing needs to be journaled.
        let doorbells = match self.job.has_ended() {
            true => Doorbells::GivenUp,
            false => Doorbells::Retried,
        };
        let waits = self.is_waiting();
        let between = self.is_between_attempts();
        let is_stoppable = waits || self.job.is_running() && !has_ended;
        if is_stoppable || self.ends_attempts(request.by) {
            // Even if the disk refuses the request, the job is stopped.
            self.stop.request(at, request);
            self.write_stop();
            self.job.reach(Hook::StopWritten);
        }
        let asked_by_guard = self.call_off(guard);
        if waits {
            self.give_up_waiting();
            // If the end cannot be recorded, this is tried again after a moment.
            let _ = self.look_at_leader();
        }
        if between {
            self.give_up_attempts();
            let _ = self.look_at_leader();
        }
        self.escalate(kill_at, asked_by_guard, doorbells)
    }

    /// Journals a stop that is not journaled yet, if that is possible now.
    pub(crate) fn write_stop(&mut self) {
        let Some(unwritten) = self.stop.unwritten() else {
            return;
        };
        if let Some(Unwritten { at, request }) = unwritten {
            let event = Event::StopRequested(request.clone());
            if self.job.ledger.journal().append(*at, &[event]).is_ok() {
                *unwritten = None;
            }
        }
    }

    /// Begins to end the job's processes. If a guard has asked them to end, continues from then.
    fn escalate(
        &mut self,
        kill_at: BootTime,
        asked_by_guard: Option<BootTime>,
        doorbells: Doorbells,
    ) -> io::Result<()> {
        match (&mut self.stop, asked_by_guard) {
            (Stop::UnderWay(stop), _) => {
                stop.escalation.hurry(kill_at);
                if doorbells == Doorbells::GivenUp {
                    stop.doorbells = doorbells;
                }
            }
            (stop, Some(asked_at)) => {
                stop.begin(Escalation::asked_before(asked_at, kill_at), doorbells);
            }
            (stop, None) => {
                let on_terminal = matches!(self.job.spec().input, Input::Pty(_));
                let escalation = Escalation::begin(clock::now(), kill_at, on_terminal);
                stop.begin(escalation, doorbells);
            }
        }
        self.job.reach(Hook::Terminated);
        self.end.look_again();
        Ok(())
    }

    /// Continues a stop that a predecessor journaled.
    pub(crate) fn resume_stop(&mut self, kill_at: BootTime) -> io::Result<()> {
        self.escalate(kill_at, None, Doorbells::Retried)
    }

    /// Continues after an end that a predecessor recorded. If a stop ended the job, its whole tree is to be stopped,
    /// and the predecessor may not have completed that.
    pub(crate) fn go_on_stopping(&mut self, ended_by: EndedBy) -> io::Result<()> {
        match ended_by {
            EndedBy::Stop | EndedBy::Timeout | EndedBy::Place => self.stop_tree(),
            EndedBy::Itself | EndedBy::Memory | EndedBy::Signal | EndedBy::Unknown => {
                self.stop_leftovers()
            }
        }
    }

    /// Stops the processes that an ended job has left, if the spec asks for that. Those of a job that ran out of its
    /// memory are killed.
    pub(crate) fn stop_leftovers(&mut self) -> io::Result<()> {
        if memory::kills_the_rest(&self.job) && !self.job.is_closed() {
            return self.escalate(clock::now(), None, Doorbells::Retried);
        }
        let attempts = self.job.state().attempts.as_ref();
        match self.job.spec().leftovers {
            Leftovers::Stop => self.stop_tree(),
            // What an attempt leaves is stopped in the pause after it, and the job has ended in that pause.
            Leftovers::Keep if attempts.is_some_and(|attempts| attempts.over_in_pause) => {
                self.stop_tree()
            }
            Leftovers::Keep => Ok(()),
        }
    }

    pub(super) fn stop_tree(&mut self) -> io::Result<()> {
        if !self.job.is_closed() {
            let kill_at = clock::now() + Millis(self.job.spec().grace_ms);
            self.escalate(kill_at, None, Doorbells::Retried)?;
        }
        Ok(())
    }
}
