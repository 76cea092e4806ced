//! Restores links that a power loss removed from `live`, `ended` and the inboxes.
//!
//! `live` and `ended` are never synced, so that no end waits for the disk. The links of a session are
//! synced only a moment after a job has started. Nothing gets lost within a boot. So before these
//! directories are first read in a boot, every job that is in neither `live` nor `ended` is linked as
//! live, and every job and post that is not over is linked in its session's inbox. The next verb then
//! finds out how such a job ended, and its session is told.

use crate::error::Error;
use crate::home::outlive::{Outlive, ids_in};
use crate::moment;
use outlive_core::{BootId, JobId, WallTime, history, layout, links};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::time::UNIX_EPOCH;

/// Once per boot: makes sure that every job is in `live` or in `ended`, and that every inbox has its
/// links. Returns the jobs that could not be linked, for example on a full disk.
pub fn once_a_boot(outlive: &Outlive) -> Result<Vec<JobId>, Error> {
    let boot = moment::boot()?;
    let home = outlive.home();
    if layout::read(&home.boot()).is_ok_and(|then| then == boot.0.as_bytes()) {
        return Ok(Vec::new());
    }
    // In this order, since a job that ends meanwhile is added to `ended` before its live link is
    // removed.
    let mut jobs = outlive.all_ids()?;
    let live: HashSet<JobId> = ids_in(&home.live())?.into_iter().collect();
    let mut ended: HashMap<JobId, WallTime> = HashMap::new();
    for entry in history::newest(home).map_err(Error::io("cannot read", home.ended()))? {
        let at = ended.entry(entry.id).or_default();
        *at = entry.ended.max(*at);
    }
    // An end is noted after it was synced, and before that its links were. But an earlier job of the same
    // id may have ended, been noted and pruned.
    let is_noted = |id: &JobId| {
        let at = ended.get(id);
        at.is_some_and(|at| made_at(outlive, id).is_none_or(|made| made <= *at))
    };
    jobs.retain(|id| live.contains(id) || !is_noted(id));
    jobs.retain(|id| relink(outlive, id).is_err());
    let posts = ids_in(&home.posts())?;
    let posted = posts.iter().try_for_each(|id| relink_post(outlive, id));
    // Nothing is written to a directory that is no home yet.
    if jobs.is_empty() && posted.is_ok() && home.live().is_dir() {
        // If this cannot be recorded, the next process repeats the search.
        let _ = note(outlive, &boot);
    }
    Ok(jobs)
}

/// When a job was made, in Unix milliseconds.
fn made_at(outlive: &Outlive, id: &JobId) -> Option<WallTime> {
    let spec = fs::metadata(outlive.job_dir(id).spec());
    let made = spec.and_then(|spec| spec.modified()).ok()?;
    let since = made.duration_since(UNIX_EPOCH).ok()?;
    Some(WallTime::default() + since)
}

fn relink(outlive: &Outlive, id: &JobId) -> io::Result<()> {
    let home = outlive.home();
    links::link_live(home, id, &outlive.job_dir(id))?;
    // A spec that cannot be read names no session.
    let spec = outlive.read_spec(id);
    spec.map_or(Ok(()), |spec| links::link_to_session(home, &spec))
}

/// A post is synced with its link before it is reported as posted. So the link is missing only if the
/// power failed before that, or if all of it was told. Reading the post is cheap and finds out.
fn relink_post(outlive: &Outlive, id: &JobId) -> io::Result<()> {
    let home = outlive.home();
    let post = home.post(id).read();
    post.map_or(Ok(()), |post| {
        links::link_inbox(home, &post.session, id, links::Kind::Post)
    })
}

fn note(outlive: &Outlive, boot: &BootId) -> io::Result<()> {
    layout::open_to_replace(&outlive.home().boot())?.write_all(boot.0.as_bytes())
}
