//! The state of a job follows from its journal by one pure function, used for recording and recovery.
//!
//! ```text
//!  Unwritten ─accepted─► Accepted ─spawned─► Spawned ─started─► Running ─stop─► Stopping
//!                            │                  │                  │               │
//!                            └──────────────────┴─────── ended ────┴───────────────┘
//!                                                          ▼
//!                                          Ended { Lingering } ─closed─► Ended { Closed }
//! ```
//! With restarts, any of the three may also go through a pause:
//! ```text
//!  Spawned, Running, Stopping ─attempt_ended─► Backoff ─spawned─► Spawned
//!                                                 └─────ended───► Ended
//! ```
//! An event that does not fit the phase changes nothing. So the first `ended` wins every race.

use crate::change::Changed;
use crate::clocks::BootTime;
use crate::confined::Confined;
use crate::event::{Event, Keeping, Moment, Record, StopCause, StopRequest};
use crate::host::Host;
use crate::label::Label;
use crate::outcome::End;
use crate::process::{BootId, ProcRef};
use crate::spec::Size;
use outlive_api::time::Millis;
use std::ops::Range;

pub mod attempts;
mod ender;
mod phase;
mod signs;

pub use attempts::Attempts;
pub use ender::Ender;
pub use signs::{Ring, Signs};

/// A job's state: what results from applying all events of its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The sequence number of the newest event; 0 before the first.
    pub seq: u64,
    pub accepted: Option<Moment>,
    pub boot: Option<BootId>,
    /// The host it runs on; unknown for jobs of the first release.
    pub host: Option<Host>,
    pub kept: Option<Kept>,
    pub phase: Phase,
    /// How its limits are enforced, if it has any.
    pub confined: Option<Confined>,
    /// Ranges of the output that could not be stored, in order.
    pub gaps: Vec<Range<u64>>,
    /// Where the output is inside the caller's own log file.
    pub log_base: Option<LogBase>,
    /// Later sizes of the terminal, each with the output offset from which it applies.
    pub sizes: Vec<(u64, Size)>,
    pub signs: Signs,
    /// What was asked for after the start.
    pub changed: Option<Box<Changed>>,
    /// The attempts that have ended, if any were followed by another.
    pub attempts: Option<Box<Attempts>>,
    /// The sequence number of the event that ended the job.
    pub end_seq: Option<u64>,
    /// When the processes that it left running had ended.
    pub lingering_ended: Option<Moment>,
    /// A stop that was requested before the job started.
    early_stop: Option<Stop>,
}

/// From byte `from` on, byte `n` of the output is at byte `offset + n` of the caller's own log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBase {
    pub offset: u64,
    pub from: u64,
}

/// The processes that keep the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub keeper: ProcRef,
    pub standby: Option<ProcRef>,
    /// Set once both keepers have died and others took over. Orphans of the job are then no longer
    /// descendants of the keeper.
    pub adopted: bool,
}

/// How far a job has come.
#[expect(
    clippy::large_enum_variant,
    reason = "a process has one state of each job that it looks at, and an idle keeper has no end"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Unwritten,
    Accepted,
    Spawned(Leader),
    Running(Leader),
    Stopping(Leader, Stop),
    /// An attempt has ended, and the next has no process yet.
    Backoff {
        /// The leader of the attempt that has ended.
        last: Leader,
        next_at: BootTime,
    },
    Ended {
        /// `None` if no process was ever created for the command.
        leader: Option<Leader>,
        at: Moment,
        end: End,
        tail: Tail,
    },
}

/// The job's first process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    pub process: ProcRef,
    /// When it was created, and later when it executed the command.
    pub since: Moment,
}

/// A stop in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub by: StopCause,
    pub detail: Option<String>,
    /// The session that requested it.
    pub session: Option<Label>,
    /// When the remaining processes will be killed.
    pub kill_at: BootTime,
}

impl Stop {
    fn new(asked: &StopRequest, at: Moment) -> Stop {
        Stop {
            by: asked.by,
            detail: asked.detail.clone(),
            session: asked.session.clone(),
            kill_at: at.boot + Millis(asked.grace_ms),
        }
    }
}

/// What comes after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Processes of the job, or processes that hold its output open, still run.
    Lingering,
    /// Nothing more will happen.
    Closed {
        output_bytes: u64,
        dropped_bytes: u64,
        /// A keeper read the output all the time until it was closed.
        output_complete: bool,
    },
}

/// Whether an event changed the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Changed,
    /// The event did not fit the phase, or was applied before.
    Ignored,
}

impl Default for State {
    fn default() -> State {
        State {
            seq: 0,
            accepted: None,
            boot: None,
            host: None,
            kept: None,
            phase: Phase::Unwritten,
            confined: None,
            gaps: Vec::new(),
            log_base: None,
            sizes: Vec::new(),
            signs: Signs::default(),
            changed: None,
            attempts: None,
            end_seq: None,
            lingering_ended: None,
            early_stop: None,
        }
    }
}

impl State {
    /// Applies one record.
    pub fn apply(&mut self, record: &Record) -> Applied {
        if record.seq <= self.seq {
            return Applied::Ignored;
        }
        self.seq = record.seq;
        self.apply_event(&record.event, record.at)
    }

    fn apply_event(&mut self, event: &Event, at: Moment) -> Applied {
        let next = match (event, &self.phase) {
            (Event::Accepted { boot, host }, Phase::Unwritten) => {
                self.accepted = Some(at);
                self.boot = Some(boot.clone());
                self.host.clone_from(host);
                Phase::Accepted
            }
            (Event::Spawned { leader, .. }, Phase::Accepted) => Phase::Spawned(Leader {
                process: *leader,
                since: at,
            }),
            (Event::Spawned { leader, output }, Phase::Backoff { .. }) => {
                let (process, since) = (*leader, at);
                self.attempt_spawned(Leader { process, since }, *output)
            }
            (Event::AttemptEnded(ended), _) => match self.attempt_ended(ended, at) {
                Some(next) => next,
                None => return Applied::Ignored,
            },
            (Event::Started, Phase::Spawned(leader)) => Phase::Running(Leader {
                since: at,
                ..*leader
            }),
            (Event::StopRequested(asked), Phase::Running(leader)) => {
                Phase::Stopping(*leader, Stop::new(asked, at))
            }
            // The timeout ends only the attempt. A stop that follows it ends the job.
            (Event::StopRequested(asked), Phase::Stopping(leader, stop))
                if !stop.by.ends_job() && asked.by.ends_job() =>
            {
                Phase::Stopping(*leader, Stop::new(asked, at))
            }
            (
                Event::StopRequested(asked),
                Phase::Accepted | Phase::Spawned(_) | Phase::Backoff { .. },
            ) => {
                self.early_stop.get_or_insert(Stop::new(asked, at));
                return Applied::Changed;
            }
            (Event::Ended(end), phase) if !matches!(phase, Phase::Ended { .. }) => {
                let leader = phase.last_leader().copied();
                self.end_seq = Some(self.seq);
                self.attempts_are_over(end);
                Phase::Ended {
                    leader,
                    at,
                    end: end.clone(),
                    tail: Tail::Lingering,
                }
            }
            (
                Event::LingeringEnded(_),
                Phase::Ended {
                    tail: Tail::Lingering,
                    ..
                },
            ) if self.lingering_ended.is_none() => {
                self.lingering_ended = Some(at);
                return Applied::Changed;
            }
            (
                Event::Closed {
                    output_bytes,
                    dropped_bytes,
                    output_complete,
                },
                Phase::Ended {
                    leader,
                    at,
                    end,
                    tail: Tail::Lingering,
                },
            ) => Phase::Ended {
                leader: *leader,
                at: *at,
                end: end.clone(),
                tail: Tail::Closed {
                    output_bytes: *output_bytes,
                    dropped_bytes: *dropped_bytes,
                    output_complete: *output_complete,
                },
            },
            (
                Event::Kept {
                    how,
                    keeper,
                    standby,
                },
                _,
            ) => {
                let adopted =
                    *how == Keeping::Adopted || self.kept.as_ref().is_some_and(|kept| kept.adopted);
                self.kept = Some(Kept {
                    keeper: *keeper,
                    standby: *standby,
                    adopted,
                });
                return Applied::Changed;
            }
            (Event::NewStandby { standby }, _) => {
                if let Some(kept) = &mut self.kept {
                    kept.standby = Some(*standby);
                }
                return Applied::Changed;
            }
            (Event::Confined(confined), Phase::Accepted | Phase::Backoff { .. }) => {
                self.confined = Some(confined.clone());
                return Applied::Changed;
            }
            (Event::Gap { from, to }, _) if from < to => {
                self.gaps.push(*from..*to);
                return Applied::Changed;
            }
            (Event::Resized { size, output }, _) => {
                self.sizes.push((*output, *size));
                return Applied::Changed;
            }
            (Event::LogBase { offset, from }, _) => {
                self.log_base = Some(LogBase {
                    offset: *offset,
                    from: *from,
                });
                return Applied::Changed;
            }
            (Event::Changed(changed), _) => {
                self.signs.rewatched(changed);
                self.changed.get_or_insert_default().merge(changed);
                return Applied::Changed;
            }
            // It was seen of the attempt that has ended.
            (Event::Ready, Phase::Backoff { .. }) => return Applied::Ignored,
            (
                Event::Matched(_)
                | Event::WatchDisabled { .. }
                | Event::WatchOverflow { .. }
                | Event::WatchResumed { .. }
                | Event::Ready
                | Event::Quiet { .. }
                | Event::AwaitingInput { .. }
                | Event::Rung { .. },
                _,
            ) => return self.signs.apply(event, at),
            // Events that do not fit the phase. They are listed one by one, so that a new event cannot
            // be forgotten here.
            (
                Event::Accepted { .. }
                | Event::Confined(_)
                | Event::Spawned { .. }
                | Event::Started
                | Event::StopRequested(_)
                | Event::Gap { .. }
                | Event::Ended(_)
                | Event::LingeringEnded(_)
                | Event::Closed { .. },
                _,
            ) => return Applied::Ignored,
        };
        self.phase = next;
        Applied::Changed
    }

    /// Whether the job has ended and nothing more will happen.
    pub fn is_final(&self) -> bool {
        matches!(
            self.phase,
            Phase::Ended {
                tail: Tail::Closed { .. },
                ..
            }
        )
    }

    pub fn end(&self) -> Option<&End> {
        match &self.phase {
            Phase::Ended { end, .. } => Some(end),
            _ => None,
        }
    }

    /// The number of processes that the job left running and whose end is not recorded yet; 0 while the
    /// job itself runs.
    pub fn lingering(&self) -> u32 {
        match (self.end(), self.lingering_ended) {
            (Some(end), None) => end.lingering,
            _ => 0,
        }
    }

    pub fn ended_at(&self) -> Option<Moment> {
        match &self.phase {
            Phase::Ended { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Whether a stop came before the start, or between two attempts, so that nothing must be started.
    pub fn is_stopped_early(&self) -> bool {
        let has_none = matches!(self.phase, Phase::Accepted | Phase::Backoff { .. });
        has_none && self.early_stop.is_some()
    }

    /// How many output bytes are missing: the dropped `middle`, and the gaps outside it.
    pub fn missing_bytes(&self, middle: &Range<u64>) -> u64 {
        let outside = |gap: &Range<u64>| {
            let inside = gap
                .end
                .min(middle.end)
                .saturating_sub(gap.start.max(middle.start));
            gap.end - gap.start - inside
        };
        // A damaged record may contain any numbers.
        let middle = middle.end.saturating_sub(middle.start);
        self.gaps
            .iter()
            .map(outside)
            .fold(middle, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests;
