//! Finding again what a power loss took from `live`, from `ended` and from the inboxes.
//!
//! `live` and `ended` are never synced, so that no end waits for it, and the links of a session only a
//! moment after a job has begun. Within a boot nothing of them is lost. So once in each boot, before they
//! are first read, every job that is in neither `live` nor `ended` is linked as live, and whatever is not
//! over is linked to its session's inbox. Whoever meets such a job then finds how it ended, or settles
//! that, and its session is told.

use crate::error::Error;
use crate::home::outlive::{Outlive, ids_in};
use crate::moment;
use outlive_core::{BootId, JobId, WallTime, history, layout, links};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::time::UNIX_EPOCH;

/// Sees to it that every job is in `live` or in `ended`, and every job and post that its session is to hear
/// of in its inbox, where a power loss may have come in between. Returns the jobs that could not be linked,
/// on a full disk say.
pub fn once_a_boot(outlive: &Outlive) -> Result<Vec<JobId>, Error> {
    let boot = moment::boot()?;
    let home = outlive.home();
    if layout::read(&home.boot()).is_ok_and(|then| then == boot.0.as_bytes()) {
        return Ok(Vec::new());
    }
    // In this order, since a job that ends meanwhile is noted before its link is removed.
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
    if jobs.is_empty() && posted.is_ok() {
        // Where that cannot be noted, they are looked through again the next time.
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

/// A post is synced with its link before anybody hears that it was posted, so it is only missing where
/// the power failed before that, or all of it was told: looking costs little, and finds out which.
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
