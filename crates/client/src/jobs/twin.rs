//! Finding a running job that is the same as one about to be started.
//!
//! Two callers that look at the same time must not both find none: so looking and starting are done
//! under a lock of all that start this command in this home.

use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::jobs::job::Job;
use crate::verbs::show;
use outlive_core::layout;
use outlive_core::{Label, Spec};
use outlive_sys::lock;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What there is.
#[derive(Debug)]
pub enum Twin {
    Runs(Box<Job>),
    /// None, and none will be started by others as long as this is held.
    None(Alone),
}

/// Held while a job is started.
#[derive(Debug)]
pub struct Alone {
    _lock: File,
}

/// Looks for a running job of this command, directory and session.
pub fn look(outlive: &Outlive, spec: &Spec) -> Result<Twin, Error> {
    let session = spec.session.as_ref().map(Label::as_str);
    let key = (session, &spec.command, spec.cwd.as_os_str());
    let alone = Alone::take(outlive, "starting", &key)?;
    for id in outlive.live_ids()? {
        // One that cannot be read, or is just being removed, is nobody's twin.
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

/// To the byte: the faces show what is no text as if it were.
fn same(one: &Spec, other: &Spec) -> bool {
    let key = |spec: &Spec| {
        (
            spec.session.clone(),
            spec.command.clone(),
            spec.argv.clone(),
            spec.cwd.clone(),
        )
    };
    key(one) == key(other)
}

impl Alone {
    /// Waits until nobody else has the lock of this purpose and key, and has it.
    pub(crate) fn take(outlive: &Outlive, purpose: &str, key: &impl Hash) -> Result<Alone, Error> {
        outlive.prepare()?;
        make_private(&outlive.home().locks())?;
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        // Two keys of one number only wait for each other.
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
