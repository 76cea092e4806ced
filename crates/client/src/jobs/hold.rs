//! Protects a job from being pruned while somebody waits for its end.
//!
//! Each waiting process holds a shared lock on the job's spec, which is written once and never changes.
//! A pruning process needs the exclusive lock while it removes the job. So a waiting process always
//! learns of the end.

use outlive_core::JobDir;
use outlive_core::layout;
use outlive_sys::lock::{self, Lock, LockResult};
use std::fs::File;
use std::sync::Arc;

/// The job exists as long as this value, unless it is removed by force.
#[derive(Clone, Debug)]
pub struct Hold {
    _lock: Arc<Lock>,
}

/// Whether a job may be removed.
#[derive(Debug)]
pub(crate) enum Removable {
    /// Nobody waits for it, and nobody can start to wait before this value is dropped.
    Yes(Option<Lock>),
    SomebodyWaits,
    /// Another process is removing it now.
    IsRemoved,
}

impl Hold {
    /// Returns `None` if the job is missing or being removed, or if files cannot be locked. Waiting is
    /// possible without the lock.
    pub(crate) fn on(job: &JobDir) -> Option<Hold> {
        let spec = layout::open(&job.spec()).ok()?;
        match lock::share(spec).ok()? {
            LockResult::Acquired(lock) => Some(Hold {
                _lock: Arc::new(lock),
            }),
            LockResult::Held => None,
        }
    }
}

pub(crate) fn removable(job: &JobDir) -> Removable {
    let spec = File::options().read(true).write(true).open(job.spec());
    match spec.and_then(lock::take) {
        // Waiting processes share the lock; a removing process does not.
        Ok(LockResult::Held) => match Hold::on(job) {
            Some(_) => Removable::SomebodyWaits,
            None => Removable::IsRemoved,
        },
        Ok(LockResult::Acquired(lock)) => Removable::Yes(Some(lock)),
        Err(_) => Removable::Yes(None),
    }
}
