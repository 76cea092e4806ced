//! Finds a running job that is the same as a job about to start.
//!
//! Two callers that look at the same time must not both find none. So searching and starting happen
//! under a lock that all starts of this command in this home share.

use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::verbs::show;
use outlive_api::job::Job;
use outlive_core::layout;
use outlive_core::{Label, Spec};
use outlive_sys::lock;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The result of the search.
#[derive(Debug)]
pub enum Twin {
    Runs(Box<Job>),
    /// There is none, and no other process can start one while this lock is held.
    None(Alone),
}

/// An exclusive lock, held while a job is started.
#[derive(Debug)]
pub struct Alone {
    _lock: File,
}

/// Looks for a running job with this command, place, directory and session.
pub fn look(outlive: &Outlive, spec: &Spec) -> Result<Twin, Error> {
    let session = spec.session.as_ref().map(Label::as_str);
    let key = (session, &spec.place, &spec.command, spec.cwd.as_os_str());
    let alone = Alone::take(outlive, "starting", &key)?;
    for id in outlive.live_ids()? {
        // A job that cannot be read, or is being removed, does not count.
        let is_same = outlive.read_spec(&id).is_ok_and(|other| same(&other, spec));
        if is_same
            && let Ok(job) = show::show(outlive, &id)
            && !job.has_ended()
        {
            return Ok(Twin::Runs(Box::new(job)));
        }
    }
    Ok(Twin::None(alone))
}

/// Compares the exact bytes: shown text replaces bytes that are not UTF-8.
fn same(one: &Spec, other: &Spec) -> bool {
    let key = |spec: &Spec| {
        (
            spec.session.clone(),
            spec.place.clone(),
            spec.command.clone(),
            spec.argv.clone(),
            spec.cwd.clone(),
        )
    };
    key(one) == key(other)
}

impl Alone {
    /// Waits until no other process holds the lock for this purpose and key, then takes it.
    pub(crate) fn take(outlive: &Outlive, purpose: &str, key: &impl Hash) -> Result<Alone, Error> {
        outlive.prepare()?;
        make_private(&outlive.home().locks())?;
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        // If two keys share a number, one start only waits for the other.
        let path = outlive
            .home()
            .locks()
            .join(format!(".{purpose}-{:x}", hasher.finish() % 64));
        let failed = || Error::io("cannot take the lock", &path);
        let file = layout::open_or_make(&path).map_err(failed())?;
        lock::wait(&file).map_err(failed())?;
        Ok(Alone { _lock: file })
    }
}
