//! Running the command again: an attempt ends, what it left is stopped, and after a pause the next attempt begins.
//!
//! ```text
//! leader ended ─attempt_ended journaled and synced─► told, leader reaped ─► leftovers stopped ─► pause over ─► leader
//! ```
//! Nothing of an attempt runs when the next begins. Otherwise its port would still be taken, and nobody could tell whose
//! output is whose.

use crate::clock;
use crate::hooks::Hook;
use crate::start::begin;
use crate::start::leader::{Leader, LeaderEnd};
use crate::supervise::ending::{Exited, LastAttempt};
use crate::supervise::keeper::Keeper;
use crate::supervise::stopping::Stop;
use crate::supervise::tail::Tail;
use outlive_core::event::{AttemptEnd, Event, StopCause};
use outlive_core::restart::{self, Ended, Next};
use outlive_core::{BootTime, Millis, Phase};
use std::io;

impl Keeper<'_> {
    /// Whether one attempt has ended, and the next has not begun.
    pub(crate) fn is_between_attempts(&self) -> bool {
        matches!(self.leader, Leader::Between) && self.job.is_between_attempts()
    }

    /// When the next attempt begins, if one follows an attempt whose leader has ended so.
    pub(super) fn next_attempt(&mut self, ended: &LeaderEnd) -> Option<BootTime> {
        match self.follows(ended)? {
            Next::Attempt { at } if !self.stop.ends_job() => Some(at),
            Next::Attempt { .. } | Next::End { .. } => None,
        }
    }

    /// What the job's end says, if no attempt follows.
    pub(super) fn last_attempt(&mut self, ended: &LeaderEnd) -> LastAttempt {
        let why = match self.follows(ended) {
            Some(Next::End { why }) => why.map(str::to_owned),
            Some(Next::Attempt { .. }) | None => None,
        };
        let restarts = self.job.state().restarts();
        let number = match self.leader {
            Leader::Attempted(_) => restarts,
            _ => restarts + 1,
        };
        let number = (restarts > 0).then_some(number);
        LastAttempt { number, why }
    }

    /// What follows. `None` for a job that is not restarted.
    fn follows(&mut self, ended: &LeaderEnd) -> Option<Next> {
        let rule = self.job.spec().restart?;
        if let Leader::Attempted(_) = self.leader {
            // It was decided before, and whatever keeps the next attempt from beginning is no matter of the rule.
            let why =
                (!self.job.state().is_stopped_for_good()).then_some(restart::UNKNOWN_ENVIRONMENT);
            return Some(Next::End { why });
        }
        let at = self.end.see(clock::moment);
        let state = self.job.state();
        let since = state.phase.leader().map(|leader| leader.since);
        let ended = Ended {
            outcome: &ended.outcome,
            duration_ms: ended.duration_ms(since, at),
            at: at.boot,
        };
        let environment = self.job.shared.environment;
        Some(restart::next(Some(rule), state, ended, environment))
    }

    /// Records the end of an attempt. Fails only if the journal cannot be written. Then it can be tried again, since the
    /// leader is not reaped yet.
    pub(super) fn end_attempt(&mut self, ended: LeaderEnd, next_at: BootTime) -> io::Result<()> {
        let at = self.end.see(clock::moment);
        let exited = Exited {
            at,
            ended,
            rings: false,
            stop: self.stop.unwritten_request().cloned(),
        };
        let synced = exited
            .drain(&mut self.job, |job| self.output.drain(job, &mut self.signs))
            .sync(&self.job, &self.output.capture);
        self.signs.end_attempt(&mut self.job);
        self.errands.call_off_probe();
        self.write_stop();
        let lingering = self.count_lingering();
        let since = self.job.state().phase.leader().map(|leader| leader.since);
        let number = self.job.state().restarts() + 1;
        let ended = Event::AttemptEnded(AttemptEnd {
            number,
            end: synced.end(&mut self.job, &mut self.output, lingering, since),
            next_at,
        });
        self.job
            .ledger
            .write_at(at, &[ended])
            .inspect_err(|error| self.end.could_not_record(error))?;
        // A disk that cannot sync this must not keep the next attempt from beginning. After a power loss no attempt
        // follows anyway.
        let _ = self.job.ledger.journal().sync();
        self.end.is_of_attempt();
        self.job.reach(Hook::AttemptEnded);
        self.clients
            .tell_news(self.job.state().seq, self.output.capture.size());
        let leader = std::mem::replace(&mut self.leader, Leader::Between);
        leader.reap();
        self.job.reach(Hook::AttemptReaped);
        self.stop_tree()
    }

    /// When the next attempt is due, if nothing of the last one is left.
    pub(crate) fn next_attempt_due(&self) -> Option<BootTime> {
        match self.job.state().phase {
            Phase::Backoff { next_at, .. }
                if self.is_between_attempts() && self.end.tail() == Tail::Stopped =>
            {
                Some(next_at)
            }
            _ => None,
        }
    }

    /// Begins the next attempt, if it is due.
    pub(super) fn go_on(&mut self) -> io::Result<()> {
        let is_due = self.next_attempt_due().is_some_and(|at| at <= clock::now());
        // Its start failed half way, for want of a descriptor for example, and is to be completed.
        let has_begun = matches!(self.leader, Leader::Between)
            && self.job.state().phase.leader().is_some()
            && !self.job.has_ended();
        if !self.pause.allows_work() || !(is_due || has_begun) {
            return Ok(());
        }
        if is_due {
            self.begin_attempt()?;
        } else {
            self.leader = begin::complete_start(&mut self.job)?;
        }
        let leader = self.job.state().phase.last_leader();
        self.processes.tree.leader = leader.map(|leader| leader.process);
        self.pair.has_new_leader();
        // Nobody had the feed open during the pause, which looked like its end.
        self.output.capture.is_fed();
        self.signs.begin();
        self.end.look_again();
        self.look_at_leader()
    }

    fn begin_attempt(&mut self) -> io::Result<()> {
        self.job.reach(Hook::AttemptDue);
        // What the leftovers wrote belongs to the attempt that they were left by.
        self.output.drain(&mut self.job, &mut self.signs);
        let from = self.output.capture.size();
        self.signs.begin_attempt(&self.job, from);
        self.stop = Stop::None;
        self.leader = begin::start_leader(&mut self.job, None, Some(from))?;
        Ok(())
    }

    /// No attempt follows, because somebody stopped the job: it ends as its last attempt did.
    pub(super) fn give_up_attempts(&mut self) {
        self.leader = Leader::attempted(self.job.state());
    }

    /// Whether a stop must be journaled although no attempt runs, or although this one is being stopped: it ends the job,
    /// and not only the attempt.
    pub(super) fn ends_attempts(&self, by: StopCause) -> bool {
        let goes_on = self.job.spec().restart.is_some() && !self.job.has_ended();
        goes_on && by.ends_job() && !self.job.state().is_stopped_for_good()
    }

    /// Continues in the pause of a predecessor, which may have died before everything was stopped.
    pub(super) fn resume_pause(&mut self) -> io::Result<()> {
        match self.leader {
            Leader::Between => {
                let kill_at = clock::now() + Millis(self.job.spec().grace_ms);
                self.resume_stop(kill_at)
            }
            _ => self.look_at_leader(),
        }
    }
}
