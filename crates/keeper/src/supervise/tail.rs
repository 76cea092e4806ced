//! What is left of a job once its leader has ended, and closing it when nothing is.

use crate::hooks::Hook;
use crate::output::capture::Feed;
use crate::pair::shared::Shared;
use crate::supervise::ending;
use crate::supervise::escalation::Progress;
use crate::supervise::keeper::{Held, Keeper};
use crate::supervise::ledger::now;
use outlive_core::event::{Event, LingeringEnded};
use outlive_core::outcome::EndedBy;
use outlive_sys::clock;
use std::io;

/// Watched processes beyond this are found when one of those watched has ended.
const MOST_WATCHED: usize = 256;

/// What is known of the processes that may outlive the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Something may have changed since they were last looked for.
    Unknown,
    /// Some are left, or the leader itself is.
    Lingering,
    /// None is left.
    Empty,
    /// None is left to be reached: whoever still holds the output is not waited for.
    Stopped,
}

/// Since when this keeper has known of what the job left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptSince {
    /// It took over after the end, and has not seen any of it.
    Unseen,
    /// It took over after the end, and has seen some of it run.
    Seen,
    /// It recorded the end itself.
    TheEnd,
}

impl Keeper<'_> {
    /// Looks what is left of the tree, where that may have changed, and closes an ended job of which
    /// nothing is. Kept out of line, as `begin::begin` is.
    #[inline(never)]
    pub fn settle(&mut self) -> io::Result<()> {
        // A stop goes on whatever else has failed.
        if self.tail == Tail::Unknown && (self.hold_off.is_none() || self.escalation.is_some()) {
            self.tail = self.look_at_tail()?;
        }
        if self.hold_off.is_some() {
            return Ok(());
        }
        self.send_errands()?;
        let over = match self.tail {
            Tail::Unknown | Tail::Lingering => false,
            Tail::Empty => self.capture.feed() == Feed::Ended,
            Tail::Stopped => true,
        };
        if over {
            self.note_lingering_ended()?;
        }
        if over && self.state().end().is_some() && !self.is_done() && !self.has_bells() {
            self.drain();
            self.pass_on(true);
            self.let_go_of_log();
            let Shared { job, spec, .. } = &*self.shared;
            let (noted, middle) = (self.noted, spec.dropped(self.capture.size()));
            ending::close(
                self.role,
                (job, spec),
                &mut self.ledger,
                &mut self.capture,
                noted,
                self.held == Held::Unbroken,
                &middle,
            )?;
        }
        Ok(())
    }

    /// Journals, once, that the processes which lingered after the end are gone.
    fn note_lingering_ended(&mut self) -> io::Result<()> {
        let lingering = self.state().lingering();
        // A stop ends also where some are left that it may not signal: of these nothing is said.
        if lingering == 0 || self.is_done() || !self.tree.members()?.is_empty() {
            return Ok(());
        }
        self.drain();
        let ended_by = match self.kept {
            _ if self.stopped => EndedBy::Stop,
            KeptSince::TheEnd => EndedBy::Itself,
            // A predecessor may have begun to stop them.
            KeptSince::Seen | KeptSince::Unseen => EndedBy::Unknown,
        };
        let ended = Event::LingeringEnded(LingeringEnded {
            lingering,
            ended_by,
            seen: self.kept != KeptSince::Unseen,
            output_bytes: self.capture.size(),
        });
        self.ledger.journal().append(now(), &[ended])?;
        self.ledger.journal().sync()?;
        self.role.reach(Hook::LingeringEnded);
        Ok(())
    }

    fn look_at_tail(&mut self) -> io::Result<Tail> {
        let ended = self.state().end().is_some();
        let spare = self.unreaped();
        if let Some(escalation) = &mut self.escalation {
            if escalation.rests(clock::boot_ms()) {
                return Ok(Tail::Lingering);
            }
            let progress = escalation.advance(&self.tree, clock::boot_ms(), &spare)?;
            // Whoever is told of the stop can see the end, so that comes first.
            if progress == Progress::Done && ended {
                self.escalation = None;
                self.stopped = true;
                // Whoever asked takes this as told with the answer. Where it cannot be written now, it is tried
                // again before the job is closed.
                let _ = self.note_lingering_ended();
                self.clients.tell_stopped();
                return Ok(Tail::Stopped);
            }
            if progress == Progress::Done
                && let Some(why) = &self.unrecorded
            {
                let reason = format!(
                    "nothing of it runs any more, but its end cannot be written to its journal: {why}"
                );
                self.clients.tell_stop_failed(reason);
            }
            // The bell rings when one of them ends.
            if progress == Progress::UnderWay && self.tree.is_own() {
                return Ok(Tail::Lingering);
            }
        } else if self.stopped {
            // Also after a doorbell, which is one more process that ends.
            return Ok(Tail::Stopped);
        } else if !ended {
            return Ok(Tail::Lingering);
        }
        let mut members = self.tree.members()?;
        if ended && !members.is_empty() && self.kept == KeptSince::Unseen {
            self.kept = KeptSince::Seen;
        }
        let tail = if members.is_empty() {
            Tail::Empty
        } else {
            Tail::Lingering
        };
        members.truncate(MOST_WATCHED);
        self.watched = if self.tree.is_own() {
            Vec::new()
        } else {
            members
        };
        Ok(tail)
    }
}
