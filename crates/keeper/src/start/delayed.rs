//! Starting a job that has waited for its turn, or giving that up.

use crate::hooks::Hook;
use crate::start::leader::Leader;
use crate::start::{begin, gate};
use crate::supervise::keeper::Keeper;
use crate::turns::{self, Turn, after};
use outlive_core::outcome::{NotStarted, Outcome};
use std::io;

/// Whoever owns the home may remove these files.
const PLACE_REMOVED: &str =
    "its place in the queue was removed: files are missing in the home's directory of queues";

/// How much of what a job waits for it has.
pub(crate) enum Taken {
    All,
    /// It has to wait for this.
    NotAll(Turn),
    /// It cannot get it any more, and was not started.
    Never,
}

impl Keeper<'_> {
    /// Whether the job waits for its turn and is not started yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.leader, Leader::Waiting(_))
    }

    /// One of the things that the job waited for is there. Starts the job if it was the last one.
    pub(crate) fn came(&mut self, turn: Turn) -> io::Result<()> {
        match (turn, &self.job.shared.named_lock) {
            (Turn::After, _) => {
                after::note_over(&self.job.shared.directory);
                self.job.reach(Hook::AfterMet);
            }
            (Turn::Lock, Some(lock)) => lock.sign()?,
            (Turn::Queue | Turn::Lock, _) => {}
        }
        match self.take_turns()? {
            Taken::All => self.start_after_wait(),
            Taken::NotAll(_) | Taken::Never => Ok(()),
        }
    }

    /// Takes what the job needs and is free. If its place in the queue was removed, nobody will ever give it a turn, so
    /// it is not started.
    pub(crate) fn take_turns(&mut self) -> io::Result<Taken> {
        match turns::take(&self.job) {
            Ok(None) => Ok(Taken::All),
            Ok(Some(turn)) => Ok(Taken::NotAll(turn)),
            Err(_)
                if self
                    .job
                    .shared
                    .place
                    .as_ref()
                    .is_some_and(|it| it.is_removed()) =>
            {
                self.refuse_to_start(PLACE_REMOVED)?;
                Ok(Taken::Never)
            }
            Err(error) => Err(error),
        }
    }

    /// The job has everything that it waited for: starts it.
    pub(crate) fn start_after_wait(&mut self) -> io::Result<()> {
        let Leader::Waiting(inside) = &mut self.leader else {
            return Ok(());
        };
        self.job.reach(Hook::TurnCame);
        let inside = inside.take();
        self.leader = begin::start_leader(&mut self.job, inside, None)?;
        let leader = self.job.state().phase.leader();
        self.processes.tree.leader = leader.map(|leader| leader.process);
        // Until now nobody had the feed open, which looked like its end.
        self.output.capture.is_fed();
        self.deliver()?;
        self.signs.begin();
        self.look_at_leader()
    }

    /// The job must not be started, for this reason.
    pub(crate) fn refuse_to_start(&mut self, reason: &str) -> io::Result<()> {
        self.leader = Leader::NotStarted(Outcome::NotStarted {
            reason: reason.to_owned(),
            cause: NotStarted::Failed,
        });
        self.look_at_leader()
    }

    /// The job was stopped before its turn came.
    pub(crate) fn give_up_waiting(&mut self) {
        self.leader = Leader::NotStarted(gate::stopped(self.job.spec()));
        // It must be gone before what it waits for is released. Otherwise it could still get that, and this job would
        // hold it for as long as it is kept.
        self.errands.call_off_wait();
    }
}
