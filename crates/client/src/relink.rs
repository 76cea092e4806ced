//! Finding again what a power loss took from `live` and `ended`.
//!
//! Neither is synced, so that no end waits for it. Within a boot nothing of them is lost; so once in each,
//! before they are first read, every job that is in neither is linked as live. Whoever meets it then
//! finds how it ended, or settles that, and notes it.

use crate::error::Error;
use crate::launch;
use crate::moment;
use crate::outlive::{Outlive, ids_in};
use outlive_core::{BootId, JobId, history, layout};
use std::collections::HashSet;
use std::io::{self, Write};

/// Sees to it that every job is in `live` or in `ended`, where a power loss may have come in between.
/// Returns those that could not be linked, on a full disk say.
pub fn once_a_boot(outlive: &Outlive) -> Result<Vec<JobId>, Error> {
    let boot = moment::boot()?;
    let home = outlive.home();
    if layout::read(&home.boot()).is_ok_and(|then| then == boot.0.as_bytes()) {
        return Ok(Vec::new());
    }
    // In this order, since a job that ends meanwhile is noted before its link is removed.
    let mut jobs = outlive.all_ids()?;
    let mut known: HashSet<JobId> = ids_in(&home.live())?.into_iter().collect();
    let ended = history::newest(home).map_err(Error::io("cannot read", home.ended()))?;
    known.extend(ended.map(|entry| entry.id));
    jobs.retain(|id| {
        !known.contains(id) && launch::link_live(outlive, id, &outlive.job_dir(id)).is_err()
    });
    if jobs.is_empty() {
        // Where that cannot be noted, they are looked through again the next time.
        let _ = note(outlive, &boot);
    }
    Ok(jobs)
}

fn note(outlive: &Outlive, boot: &BootId) -> io::Result<()> {
    layout::open_to_replace(&outlive.home().boot())?.write_all(boot.0.as_bytes())
}
