//! Starting a job that has waited for its named lock, or giving that up.

use crate::errands::errand::Task;
use crate::hooks::Hook;
use crate::start::leader::Leader;
use crate::start::{begin, gate};
use crate::supervise::keeper::Keeper;
use std::io;

impl Keeper<'_> {
    /// Whether the job is still to be started, when its turn has come.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.leader, Leader::Waiting)
    }

    /// The job's turn has come.
    pub(crate) fn start_after_wait(&mut self) -> io::Result<()> {
        if !self.is_waiting() {
            return Ok(());
        }
        if let Some(turn) = &self.shared.turn {
            turn.sign()?;
        }
        self.role.reach(Hook::TurnCame);
        let inside = self.inside.take();
        self.leader = begin::start_leader(self.role, self.shared, &mut self.ledger, inside)?;
        self.tree.leader = self.state().phase.leader().map(|leader| leader.process);
        // Until now nobody had it open, which looked like its end.
        self.capture.is_fed();
        self.deliver()?;
        self.notice_start();
        self.look_at_leader()
    }

    /// It was stopped before its turn came.
    pub(crate) fn give_up_turn(&mut self) {
        self.leader = Leader::NotStarted(gate::stopped(&self.shared.spec));
        // Gone before the lock is let go of: it could be given it afterwards, for as long as somebody
        // keeps this job.
        for errand in self
            .errands
            .extract_if(.., |errand| errand.task == Task::Turn)
        {
            errand.call_off();
        }
    }
}
