//! Starting a job that has waited for its named lock, or giving that up.

use crate::hooks::Hook;
use crate::start::leader::Leader;
use crate::start::{begin, gate};
use crate::supervise::keeper::Keeper;
use std::io;

impl Keeper<'_> {
    /// Whether the job waits for its lock and is not started yet.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.leader, Leader::Waiting(_))
    }

    /// The job has the lock now: starts it.
    pub(crate) fn start_after_wait(&mut self) -> io::Result<()> {
        let Leader::Waiting(inside) = &mut self.leader else {
            return Ok(());
        };
        if let Some(lock) = &self.job.shared.named_lock {
            lock.sign()?;
        }
        self.job.reach(Hook::TurnCame);
        let inside = inside.take();
        self.leader = begin::start_leader(&mut self.job, inside)?;
        let leader = self.job.state().phase.leader();
        self.processes.tree.leader = leader.map(|leader| leader.process);
        // Until now nobody had the feed open, which looked like its end.
        self.output.capture.is_fed();
        self.deliver()?;
        self.signs.begin();
        self.look_at_leader()
    }

    /// The job was stopped before it had the lock.
    pub(crate) fn give_up_waiting(&mut self) {
        self.leader = Leader::NotStarted(gate::stopped(self.job.spec()));
        // It must be gone before the lock is released. Otherwise it could still get the lock, and this job would hold
        // it for as long as it is kept.
        self.errands.call_off_lock_wait();
    }
}
