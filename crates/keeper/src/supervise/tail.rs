//! What is left of a job after its leader has ended, and closing the job when nothing is left.

use crate::clock;
use crate::hooks::Hook;
use crate::output::capture::Feed;
use crate::supervise::end::KeptSince;
use crate::supervise::ending;
use crate::supervise::escalation::Progress;
use crate::supervise::keeper::Keeper;
use outlive_core::event::{Event, LingeringEnded};
use outlive_core::outcome::EndedBy;
use std::io;

/// What is known of the processes that may outlive the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Something may have changed since they were last looked for.
    Unknown,
    /// Some are left, or the leader itself is.
    Lingering,
    /// None is left.
    Empty,
    /// None is left that can be reached. The keeper does not wait for those that still hold the output.
    Stopped,
}

impl Keeper<'_> {
    /// Finds out what is left of the tree, if that may have changed. Closes an ended job if nothing is left.
    /// Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub fn settle(&mut self) -> io::Result<()> {
        // A stop continues even if something else has failed.
        let may_look = self.pause.allows_work() || self.stop.is_under_way();
        if self.end.tail() == Tail::Unknown && may_look {
            let tail = self.look_at_tail()?;
            self.end.set_tail(tail);
        }
        if !self.pause.allows_work() {
            return Ok(());
        }
        self.send_errands()?;
        let over = match self.end.tail() {
            Tail::Unknown | Tail::Lingering => false,
            Tail::Empty => self.output.capture.feed() == Feed::Ended,
            Tail::Stopped => true,
        };
        if over {
            self.note_lingering_ended()?;
        }
        let keeps_on = !self.job.has_ended() || self.job.is_closed();
        match over && !keeps_on && !self.errands.has_doorbells(&self.job, &self.stop) {
            true => self.close(),
            false => Ok(()),
        }
    }

    /// The last thing a keeper does: the output is final.
    fn close(&mut self) -> io::Result<()> {
        self.output.drain(&mut self.job, &mut self.signs);
        self.output.pass_on(&mut self.job, &mut self.signs, true);
        self.output.release_log();
        ending::close(&mut self.job, &mut self.output, self.end.noted())
    }

    /// Journals, once, that the processes which lingered after the end are gone.
    fn note_lingering_ended(&mut self) -> io::Result<()> {
        let lingering = self.job.state().lingering();
        // A stop also ends if some are left that it may not signal. These are not reported as gone.
        if lingering == 0 || self.job.is_closed() || !self.processes.tree.members()?.is_empty() {
            return Ok(());
        }
        self.output.drain(&mut self.job, &mut self.signs);
        let kept = self.end.kept_since();
        let ended_by = match kept {
            _ if self.stop.was_completed() => EndedBy::Stop,
            KeptSince::TheEnd => EndedBy::Itself,
            // A predecessor may have begun to stop them.
            KeptSince::Seen | KeptSince::Unseen => EndedBy::Unknown,
        };
        let ended = Event::LingeringEnded(LingeringEnded {
            lingering,
            ended_by,
            seen: kept != KeptSince::Unseen,
            output_bytes: self.output.capture.size(),
        });
        self.job
            .ledger
            .journal()
            .append(clock::moment(), &[ended])?;
        self.job.ledger.journal().sync()?;
        self.job.reach(Hook::LingeringEnded);
        Ok(())
    }

    fn look_at_tail(&mut self) -> io::Result<Tail> {
        let ended = self.job.has_ended();
        let spare = self.unreaped();
        if let Some(escalation) = self.stop.escalation() {
            if escalation.rests(clock::now()) {
                return Ok(Tail::Lingering);
            }
            let tree = &self.processes.tree;
            let progress = escalation.advance(tree, clock::now(), &spare)?;
            if progress == Progress::Done && self.job.is_between_attempts() {
                self.stop.complete();
                return Ok(Tail::Stopped);
            }
            // A client that is told of the stop must be able to see the end, so the end comes first.
            if progress == Progress::Done && ended {
                self.stop.complete();
                // The client that asked for the stop expects this in the journal as soon as it is answered. If it
                // cannot be written now, it is tried again before the job is closed.
                let _ = self.note_lingering_ended();
                self.clients.tell_stopped();
                return Ok(Tail::Stopped);
            }
            if progress == Progress::Done
                && let Some(why) = self.end.unrecorded()
            {
                let reason = format!(
                    "nothing of it runs any more, but its end cannot be written to its journal: {why}"
                );
                self.clients.tell_stop_failed(reason);
            }
            // SIGCHLD reports when one of them ends.
            if progress == Progress::UnderWay && tree.is_own() {
                return Ok(Tail::Lingering);
            }
        } else if self.stop.was_completed() {
            // Also when a doorbell has ended: its end is reported like that of the job's processes.
            return Ok(Tail::Stopped);
        } else if !ended {
            return Ok(Tail::Lingering);
        }
        let members = self.processes.tree.members()?;
        let tail = match members.is_empty() {
            true => Tail::Empty,
            false => Tail::Lingering,
        };
        if ended && tail == Tail::Lingering {
            self.end.has_seen_lingering();
        }
        self.processes.watch(members);
        Ok(tail)
    }
}
