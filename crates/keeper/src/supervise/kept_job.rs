//! The job that a keeper supervises: what was asked for, what the pair shares, and the journal.

use crate::hooks::{Hook, Role};
use crate::pair::shared::Shared;
use crate::supervise::ledger::Ledger;
use outlive_core::{Phase, Spec, State};

/// What every part of a keeper needs to know about the job.
#[derive(Debug)]
pub(crate) struct KeptJob<'a> {
    pub role: Role,
    pub shared: &'a mut Shared,
    pub ledger: Ledger,
}

impl KeptJob<'_> {
    pub fn state(&self) -> &State {
        self.ledger.state()
    }

    pub fn spec(&self) -> &Spec {
        &self.shared.spec
    }

    /// The journal has the job's end. Processes of it may still run.
    pub fn has_ended(&self) -> bool {
        self.state().end().is_some()
    }

    /// The journal is complete: the job is closed, and nothing more will be written.
    pub fn is_closed(&self) -> bool {
        self.state().is_final()
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state().phase, Phase::Running(_))
    }

    /// Whether an attempt has ended, and the next has no process yet.
    pub fn is_between_attempts(&self) -> bool {
        matches!(self.state().phase, Phase::Backoff { .. })
    }

    /// Marks a step for tests.
    pub fn reach(&self, hook: Hook) {
        self.role.reach(hook);
    }
}
