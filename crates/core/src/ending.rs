//! Writing an end down, in the order that loses nothing.
//!
//! ```text
//! spec and names synced … output synced ─► ended ─► journal synced ─► history ─► live link removed
//! ```
//! Before that, links that are missing are made again: the end is told through them.
//!
//! Starting waits for no disk. So before an end is known for ever, all that it takes to find it and to
//! tell its session is made to last: what was asked, the directory and its names, the links of its session.
//! For a job that is not over at once a standby does so while it runs, when nobody waits for it.
//!
//! The live link and the history are not synced: what a power loss takes of them is made again from
//! the jobs themselves, by whoever first asks in the next boot.
//!
//! Whoever holds the job's lock does this: the keeper, or a client that settles a job no keeper can
//! help any more. Killed in between, the next holder goes on: each step can be repeated.

use crate::event::{Event, Moment};
use crate::history::{self, Entry};
use crate::journal::JournalWriter;
use crate::layout::{self, JobDir};
use crate::links;
use crate::outcome::End;
use crate::spec::Spec;
use crate::told::Told;
use std::io;

/// Whether anything can come after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Lingering,
    Nothing,
}

/// That it was seen to that a job is found again, also after the power has failed.
#[derive(Clone, Copy, Debug)]
pub struct Findable {
    /// A disk that could not sync may still take the outcome, which matters more.
    pub lasts: bool,
}

/// Sees to it; `spec` tells by what names it is known, and who is to be told.
pub fn make_findable(job: &JobDir, spec: Option<&Spec>) -> Findable {
    let linked = spec.map_or(Ok(()), |spec| relink(job, spec));
    Findable {
        lasts: linked.is_ok() && sync_names(job, spec).is_ok(),
    }
}

/// Makes the links of its session again that a power loss, or somebody who tidied up and died over it,
/// took away.
pub fn relink(job: &JobDir, spec: &Spec) -> io::Result<()> {
    let (home, _) = job.place()?;
    let told = Told::read(&job.told(), spec.incarnation.as_ref());
    match told.is_ok_and(|told| told.is_closed()) {
        // Its session was ended: nobody comes for it.
        true => Ok(()),
        false => links::link_to_session(&home, spec),
    }
}

/// Appends the end and syncs it. Once this returns, the outcome is known for ever.
pub fn record(
    _: Findable,
    journal: &mut JournalWriter,
    at: Moment,
    end: End,
    after: After,
) -> io::Result<()> {
    let closed = Event::Closed {
        output_bytes: end.output_bytes,
        dropped_bytes: end.dropped_bytes,
        output_complete: end.output_complete,
    };
    let mut events = vec![Event::Ended(end)];
    if after == After::Nothing {
        events.push(closed);
    }
    journal.append(at, &events)?;
    journal.sync()
}

fn sync_names(job: &JobDir, spec: Option<&Spec>) -> io::Result<()> {
    let (home, _) = job.place()?;
    // First what others change as well: with it filesystems that keep a journal sync the rest.
    layout::sync_directory(&home.jobs())?;
    layout::sync_directory(job.path())?;
    // Not waiting for what a job may have put in its place.
    layout::sync_all(&layout::open(&job.spec())?)?;
    if let Some(session) = spec.and_then(|spec| spec.session.as_ref()) {
        layout::sync_directory(&home.inbox(session))?;
        layout::sync_directory(&home.inboxes())?;
        layout::sync_directory(&home.session(session))?;
        layout::sync_directory(&home.sessions())?;
    }
    let is_linked = |spec: &&Spec| spec.name.is_some() && spec.session.is_none();
    match spec.filter(is_linked) {
        Some(_) => layout::sync_directory(&home.names()),
        None => Ok(()),
    }
}

/// Lets `list` and the session's inbox find the end. Failing here costs nothing but that: the live link
/// stays, and whoever meets it next tries again.
pub fn note(job: &JobDir, spec: Option<&Spec>, ended_ms: u64) -> io::Result<()> {
    if let Some(spec) = spec {
        relink(job, spec)?;
    }
    let (home, id) = job.place()?;
    history::append(&home, &Entry { ended_ms, id })
}

/// Takes the job out of what runs. Its feed and control socket go with it.
pub fn retire(job: &JobDir) -> io::Result<()> {
    let (home, id) = job.place()?;
    for path in [job.feed(), job.control(), home.live_link(&id)] {
        links::remove(&path)?;
    }
    Ok(())
}

/// All of it at once, for a job of which nothing is left to wait for.
pub fn settle(
    job: &JobDir,
    spec: Option<&Spec>,
    journal: &mut JournalWriter,
    at: Moment,
    end: End,
) -> io::Result<()> {
    record(make_findable(job, spec), journal, at, end, After::Nothing)?;
    note(job, spec, at.wall_ms)?;
    retire(job)
}
