//! Who decides about the start of a job: one thread of the courier at a time.

use crate::clock;
use outlive_core::{BootTime, JobId};
use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The jobs whose start is being decided now.
#[derive(Default)]
pub struct Claims {
    busy: Mutex<HashSet<JobId>>,
    changed: Condvar,
}

/// The right to decide about the start of a job.
pub struct Claim<'a> {
    claims: &'a Claims,
    job: JobId,
}

impl Claims {
    /// Takes the right to decide about a start. Waits until then while somebody else has it.
    pub fn take(&self, job: &JobId, by: BootTime) -> Option<Claim<'_>> {
        let left = by.since(clock::boot());
        let is_busy = |busy: &mut HashSet<JobId>| busy.contains(job);
        let waited = self.changed.wait_timeout_while(self.lock(), left, is_busy);
        let (mut busy, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.claim(&mut busy, job)
    }

    /// The same, if nobody else has it.
    pub fn try_take(&self, job: &JobId) -> Option<Claim<'_>> {
        self.claim(&mut self.lock(), job)
    }

    fn claim(&self, busy: &mut HashSet<JobId>, job: &JobId) -> Option<Claim<'_>> {
        busy.insert(job.clone()).then(|| Claim {
            claims: self,
            job: job.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<JobId>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.claims.lock().remove(&self.job);
        self.claims.changed.notify_all();
    }
}
