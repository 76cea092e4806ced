//! The attempts of a job that is restarted, as far as the journal tells.

use super::{Ender, Leader, Phase, State, Stop};
use crate::event::{AttemptEnd, Event, Moment};
use crate::journal;
use crate::outcome::End;
use crate::restart;
use outlive_api::attempt::{Attempt, AttemptOutput};

/// What is known of the attempts that have ended. A job whose first attempt runs has none of this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// How many of the last ones in a row were short.
    pub short: u32,
    /// When the command was executed first.
    pub first: Option<Moment>,
    /// The newest one that has ended, and when that was.
    pub last: AttemptEnd,
    pub last_at: Moment,
    /// Where the output of the present attempt begins.
    pub output_from: u64,
    /// The job ended in a pause, so processes that the last attempt left may still have to be stopped.
    pub over_in_pause: bool,
}

impl State {
    /// How many attempts have ended and were followed by another one, or will be.
    pub fn restarts(&self) -> u32 {
        self.attempts
            .as_ref()
            .map_or(0, |attempts| attempts.last.number)
    }

    /// The number of the attempt that runs, or of the last one if none will follow or none has begun.
    pub fn attempt(&self) -> u32 {
        match &self.phase {
            Phase::Backoff { .. } => self.restarts(),
            Phase::Ended { end, .. } => end.attempt.unwrap_or(self.restarts() + 1),
            _ => self.restarts() + 1,
        }
    }

    /// When the first attempt executed the command.
    pub fn started(&self) -> Option<Moment> {
        let first = self.attempts.as_ref().and_then(|attempts| attempts.first);
        first.or(self.phase.leader().map(|leader| leader.since))
    }

    /// When the next attempt begins, if the job waits for that.
    pub fn next_attempt(&self) -> Option<Moment> {
        let attempts = self.attempts.as_ref()?;
        let Phase::Backoff { next_at, .. } = self.phase else {
            return None;
        };
        Some(Moment {
            wall: attempts.last_at.wall + next_at.since(attempts.last_at.boot),
            boot: next_at,
        })
    }

    /// Somebody asked for the end of the job, and not only of an attempt, as a timeout does.
    pub fn is_stopped_for_good(&self) -> bool {
        let stops = |stop: &Stop| stop.by.ends_job();
        self.early_stop.as_ref().is_some_and(stops)
            || matches!(&self.phase, Phase::Stopping(_, stop) if stops(stop))
    }

    /// What ended a job that ends in a pause: a stop, else what ended the last attempt.
    pub(super) fn ended_by_in_pause(&self) -> Option<Ender> {
        let (Phase::Backoff { .. }, None, Some(attempts)) =
            (&self.phase, &self.early_stop, &self.attempts)
        else {
            return None;
        };
        let end = &attempts.last.end;
        Some(Ender {
            by: end.ended_by,
            detail: end.ended_by_detail.clone(),
            session: end.ended_by_session.clone(),
        })
    }

    /// The end of a job that ends in a pause without a keeper: that of its last attempt. `why` says why none followed.
    pub fn end_in_pause(&self, why: &str, output_bytes: u64, dropped_bytes: u64) -> Option<End> {
        let attempts = self.attempts.as_ref()?;
        let ender = self.ended_by(false);
        let is_stopped = self.early_stop.is_some();
        Some(End {
            ended_by: ender.by,
            ended_by_detail: ender.detail,
            ended_by_session: ender.session,
            duration_ms: None,
            output_bytes,
            dropped_bytes,
            lingering: 0,
            attempt: Some(attempts.last.number),
            not_restarted: (!is_stopped).then(|| why.to_owned()),
            ..attempts.last.end.clone()
        })
    }

    pub(super) fn attempt_ended(&mut self, ended: &AttemptEnd, at: Moment) -> Option<Phase> {
        let leader = match &self.phase {
            Phase::Spawned(leader) | Phase::Running(leader) | Phase::Stopping(leader, _) => *leader,
            // No process could be created for it.
            Phase::Backoff { last, .. } => *last,
            Phase::Unwritten | Phase::Accepted | Phase::Ended { .. } => return None,
        };
        let before = self.attempts.take();
        let short = before.as_ref().map_or(0, |before| before.short);
        self.attempts = Some(Box::new(Attempts {
            short: restart::count_short(short, ended.end.duration_ms),
            first: before
                .and_then(|before| before.first)
                .or(has_run(ended).then_some(leader.since)),
            last: ended.clone(),
            last_at: at,
            output_from: ended.end.output_bytes,
            over_in_pause: false,
        }));
        // Each attempt has to become ready itself.
        self.signs.ready = None;
        Some(Phase::Backoff {
            last: leader,
            next_at: ended.next_at,
        })
    }

    /// Another attempt has a process. What leftovers of the one before wrote until then belongs to that one.
    pub(super) fn attempt_spawned(&mut self, leader: Leader, output: Option<u64>) -> Phase {
        if let Some(attempts) = &mut self.attempts {
            attempts.output_from = output.unwrap_or(attempts.output_from);
        }
        Phase::Spawned(leader)
    }

    /// The job ends so. Where no attempt followed the last one, this repeats its end.
    pub(super) fn attempts_are_over(&mut self, end: &End) {
        if let Some(attempts) = &mut self.attempts {
            attempts.over_in_pause = end.attempt == Some(attempts.last.number);
        }
    }
}

fn has_run(ended: &AttemptEnd) -> bool {
    !matches!(
        ended.end.outcome,
        crate::outcome::Outcome::NotStarted { .. }
    )
}

/// All attempts that a journal tells of, in order. The state keeps only what it needs of them, so that a keeper does not
/// grow with their number.
pub fn all(journal: &[u8]) -> Vec<Attempt> {
    let mut state = State::default();
    let mut attempts = Vec::new();
    let mut run = Run::default();
    journal::for_each(journal, |record| {
        if state.apply(record) == super::Applied::Ignored {
            return;
        }
        match &record.event {
            Event::Spawned { output, .. } => {
                let from = output.unwrap_or(run.from);
                // What came until now belongs to the attempt before.
                if let Some(Attempt { output, .. }) = attempts.last_mut() {
                    output.to = Some(from);
                }
                run = Run {
                    from,
                    started: None,
                };
            }
            Event::Started => run.started = Some(record.at),
            Event::AttemptEnded(ended) => {
                attempts.push(run.ended(ended.number, record.at, &ended.end));
                run = Run {
                    from: ended.end.output_bytes,
                    started: None,
                };
            }
            Event::Ended(end) if !is_over_in_pause(&state) => {
                attempts.push(run.ended(state.attempt(), record.at, end));
            }
            Event::Closed { output_bytes, .. } => {
                if let Some(Attempt { output, .. }) = attempts.last_mut() {
                    output.to = Some(*output_bytes);
                }
            }
            _ => {}
        }
    });
    if state.end().is_none() && !matches!(state.phase, Phase::Backoff { .. } | Phase::Unwritten) {
        attempts.push(run.present(state.attempt()));
    }
    attempts
}

fn is_over_in_pause(state: &State) -> bool {
    let attempts = state.attempts.as_ref();
    attempts.is_some_and(|attempts| attempts.over_in_pause)
}

/// An attempt while the journal is read.
#[derive(Default)]
struct Run {
    from: u64,
    started: Option<Moment>,
}

impl Run {
    fn present(&self, number: u32) -> Attempt {
        Attempt {
            number,
            started_at: self.started.map(Moment::timestamp),
            ended_at: None,
            outcome: None,
            exit_code: None,
            ended_by: None,
            output: AttemptOutput {
                from: self.from,
                to: None,
            },
        }
    }

    fn ended(&self, number: u32, at: Moment, end: &End) -> Attempt {
        let mut attempt = self.present(number);
        attempt.ended_at = Some(at.timestamp());
        attempt.exit_code = end.outcome.exit_code();
        attempt.outcome = Some(end.outcome.clone());
        attempt.ended_by = Some(end.ended_by);
        attempt
    }
}
