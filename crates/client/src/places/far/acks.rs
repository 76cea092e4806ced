//! Records what the courier has safely. An event that the session of its home would be told counts as told then, so
//! that nobody here waits for it, and its job can be removed. When that is recorded of all records of a job, the courier
//! is told: an ack that was lost with its wire would otherwise keep the job here.
//!
//! A thread of its own does this, because it writes to the disk.

use super::journals::{Journals, line};
use crate::home::outlive::Outlive;
use crate::hooks::{self, FarHook};
use crate::inbox::told;
use outlive_core::JobId;
use outlive_core::far::FromJournals;
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
    acked: BTreeMap<JobId, Acked>,
    /// The job that is being recorded.
    current: Option<JobId>,
    closed: bool,
}

/// What was acked of a job.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    /// The largest number.
    seq: u64,
    /// The courier wants to know when it is recorded.
    is_last: bool,
}

impl Acks {
    pub fn put(&self, job: &JobId, seq: u64) {
        if seq > 0 {
            self.add(job, seq, false);
        }
    }

    /// The courier has all of this job.
    pub fn put_last(&self, job: &JobId, seq: u64) {
        self.add(job, seq, true);
    }

    fn add(&self, job: &JobId, seq: u64, is_last: bool) {
        let mut pending = self.lock();
        let acked = pending.acked.entry(job.clone()).or_default();
        acked.seq = seq.max(acked.seq);
        acked.is_last |= is_last;
        drop(pending);
        self.changed.notify_all();
    }

    /// Records what comes, until it is closed and all is recorded. The handle speaks for the session of the courier's
    /// home.
    pub fn record(&self, outlive: &Outlive, journals: &Journals) {
        let mut pending = self.lock();
        loop {
            let Some((job, acked)) = pending.acked.pop_first() else {
                if pending.closed {
                    return;
                }
                pending = self.wait(pending);
                continue;
            };
            pending.current = Some(job.clone());
            drop(pending);
            // A record that cannot be written now is written at the next ack.
            let heard = told::heard(outlive, &job, ToldBy::Inbox, |_, seq| seq <= acked.seq);
            hooks::reach_far(FarHook::Acked);
            let is_recorded = heard.map_or_else(|error| error.is_no_such_job(), |()| true);
            if acked.is_last && is_recorded {
                // If the wire is over, it is asked again on the next one.
                let _ = journals.send(&line(&FromJournals::Finished { job: job.clone() }));
            }
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
