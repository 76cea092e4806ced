//! Records what the courier has safely. An event that the session of its home would be told counts as told then, so
//! that nobody here waits for it, and its job can be removed.
//!
//! A thread of its own does this, because it writes to the disk.

use crate::home::outlive::Outlive;
use crate::hooks::{self, FarHook};
use crate::inbox::told;
use outlive_core::JobId;
use outlive_core::told::ToldBy;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is to be recorded.
#[derive(Debug, Default)]
pub struct Acks {
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    /// The largest number that was acked.
    acked: BTreeMap<JobId, u64>,
    /// The job that is being recorded.
    current: Option<JobId>,
    closed: bool,
}

impl Acks {
    pub fn put(&self, job: &JobId, seq: u64) {
        if seq == 0 {
            return;
        }
        let mut pending = self.lock();
        let acked = pending.acked.entry(job.clone()).or_default();
        *acked = seq.max(*acked);
        drop(pending);
        self.changed.notify_all();
    }

    /// Records what comes, until it is closed and all is recorded. The handle speaks for the session of the courier's
    /// home.
    pub fn record(&self, outlive: &Outlive) {
        let mut pending = self.lock();
        loop {
            let Some((job, seq)) = pending.acked.pop_first() else {
                if pending.closed {
                    return;
                }
                pending = self.wait(pending);
                continue;
            };
            pending.current = Some(job.clone());
            drop(pending);
            // A record that cannot be written now is written at the next ack.
            let _ = told::heard(outlive, &job, ToldBy::Inbox, |_, other| other <= seq);
            hooks::reach_far(FarHook::Acked);
            pending = self.lock();
            pending.current = None;
            self.changed.notify_all();
        }
    }

    /// Waits until everything is recorded that was acked of this job.
    pub fn settle(&self, job: &JobId) {
        let mut pending = self.lock();
        while pending.acked.contains_key(job) || pending.current.as_ref() == Some(job) {
            pending = self.wait(pending);
        }
    }

    /// No more acks come. Waits for a moment until all are recorded.
    pub fn close(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut pending = self.lock();
        pending.closed = true;
        self.changed.notify_all();
        while !pending.acked.is_empty() || pending.current.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(pending, left);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, pending: MutexGuard<'a, Pending>) -> MutexGuard<'a, Pending> {
        let pending = self.changed.wait(pending);
        pending.unwrap_or_else(PoisonError::into_inner)
    }
}
