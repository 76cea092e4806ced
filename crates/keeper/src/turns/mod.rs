//! What a job waits for before it is started: first the end of other jobs, then its turn in a queue, then its lock.
//!
//! | module | owns |
//! |---|---|
//! | [`after`] | the end of other jobs |
//! | [`place`] | a job's place in its queue, which the pair holds |
//! | [`line`] | deciding whose turn it is, and sleeping until that may have changed |
//!
//! The keeper never sleeps for any of these itself: each wait is an errand. When the errand ends, the keeper looks at
//! what comes next. So what a keeper knows of its turns is in files and locks, and its successor finds it there.

pub(crate) mod after;
pub(crate) mod line;
pub(crate) mod place;

use crate::errands::lock_wait::{LockState, NamedLock};
use crate::supervise::kept_job::KeptJob;
use place::Place;
use std::io;

/// What a job waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The end of other jobs.
    After,
    /// Its turn in the queue.
    Queue,
    /// Its lock.
    Lock,
}

/// Takes everything that the job needs and that is free, in order. Returns what it has to wait for; `None` if it can
/// be started.
pub(crate) fn take(job: &KeptJob) -> io::Result<Option<Turn>> {
    if !after::are_over(&job.shared.directory, job.spec()) {
        return Ok(Some(Turn::After));
    }
    let shared = &*job.shared;
    let queue = shared.place.as_ref().map_or(Ok(LockState::Ours), |place| {
        place.join(job.role)?;
        place.take(job.role)
    });
    if queue? == LockState::Held {
        return Ok(Some(Turn::Queue));
    }
    let lock = shared.named_lock.as_ref();
    match lock.map_or(Ok(LockState::Ours), NamedLock::take)? {
        LockState::Held => Ok(Some(Turn::Lock)),
        LockState::Ours => Ok(None),
    }
}

impl KeptJob<'_> {
    /// Lets the next jobs have the named lock and the place in the queue.
    pub fn release_turns(&self) {
        if let Some(lock) = &self.shared.named_lock {
            lock.release();
        }
        if let Some(place) = &self.shared.place {
            place.release();
            self.reach(crate::hooks::Hook::TurnPassed);
        }
    }

    /// After an adoption: takes what the job holds while it runs, and lost with its keepers.
    pub fn retake_turns(&self) {
        if let Some(lock) = &self.shared.named_lock {
            lock.retake();
        }
        if let Some(place) = &self.shared.place {
            place.retake();
        }
    }
}

/// Opens the job's place in its queue, if it has a queue. A job that has `begun` had its turn before.
pub(crate) fn open_place(
    job: &outlive_core::JobDir,
    spec: &outlive_core::Spec,
    begun: bool,
) -> io::Result<Option<Box<Place>>> {
    match &spec.queue {
        None => Ok(None),
        Some(queue) if begun => Place::find(job, queue, spec),
        Some(queue) => Place::make(job, queue, spec).map(|place| Some(Box::new(place))),
    }
}
