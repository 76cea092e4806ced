//! Keeping a job from being pruned while somebody waits for its end.
//!
//! Whoever waits shares a lock on the job's spec, which is written once and never changes; whoever prunes
//! has it alone while the job is removed. So an end that is waited for is told, however soon others prune.

use outlive_core::JobDir;
use outlive_core::layout;
use outlive_sys::lock::{self, Lock, Locked};
use std::fs::File;
use std::sync::Arc;

/// The job stays for as long as this does, unless it is removed by force.
#[derive(Clone, Debug)]
pub struct Hold {
    _lock: Arc<Lock>,
}

/// Whether a job may be removed.
#[derive(Debug)]
pub(crate) enum Removable {
    /// Nobody waits for it, nor will before this is dropped.
    Yes(Option<Lock>),
    SomebodyWaits,
    /// By somebody else, just now.
    IsRemoved,
}

impl Hold {
    /// `None` for a job that is not there or is being removed, and where files cannot be locked: that
    /// is no reason not to wait.
    pub(crate) fn on(job: &JobDir) -> Option<Hold> {
        let spec = layout::open(&job.spec()).ok()?;
        match lock::share(spec).ok()? {
            Locked::Mine(lock) => Some(Hold {
                _lock: Arc::new(lock),
            }),
            Locked::Taken => None,
        }
    }
}

pub(crate) fn removable(job: &JobDir) -> Removable {
    let spec = File::options().read(true).write(true).open(job.spec());
    match spec.and_then(lock::take) {
        // Those who wait share it, and one who removes does not.
        Ok(Locked::Taken) => match Hold::on(job) {
            Some(_) => Removable::SomebodyWaits,
            None => Removable::IsRemoved,
        },
        Ok(Locked::Mine(lock)) => Removable::Yes(Some(lock)),
        Err(_) => Removable::Yes(None),
    }
}
