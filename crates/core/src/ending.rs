//! Writing an end down, in the order that loses nothing.
//!
//! ```text
//! spec and names synced … output synced ─► ended ─► journal synced ─► history synced ─► live link removed
//! ```
//! Starting waits for no disk. So before an end is known for ever, all that it takes to find it and to
//! tell its session is made to last: what was asked, the directory and its name, the links in `live`
//! (until the end is in the history) and in the inbox.
//! A keeper does so once the job runs, when nobody waits for it.
//!
//! Whoever holds the job's lock does this: the keeper, or a client that settles a job no keeper can
//! help any more. Killed in between, the next holder goes on: each step can be repeated.

use crate::event::{Event, Moment};
use crate::history::{self, Entry};
use crate::journal::JournalWriter;
use crate::label::Label;
use crate::layout::{self, JobDir};
use crate::outcome::End;
use std::fs;
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

/// Sees to it; `session` is who is to be told.
pub fn make_findable(job: &JobDir, session: Option<&Label>) -> Findable {
    Findable {
        lasts: sync_names(job, session).is_ok(),
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
    };
    let mut events = vec![Event::Ended(end)];
    if after == After::Nothing {
        events.push(closed);
    }
    journal.append(at, &events)?;
    journal.sync()
}

fn sync_names(job: &JobDir, session: Option<&Label>) -> io::Result<()> {
    // Not waiting for what a job may have put in its place.
    layout::open(&job.spec())?.sync_all()?;
    let (home, _) = job.place()?;
    layout::sync_directory(job.path())?;
    layout::sync_directory(&home.jobs())?;
    layout::sync_directory(&home.live())?;
    if let Some(session) = session {
        layout::sync_directory(&home.inbox(session))?;
        layout::sync_directory(&home.inboxes())?;
    }
    Ok(())
}

/// Lets `list` find the end. Failing here costs nothing but that: the live link stays, and whoever
/// meets it next tries again.
pub fn note(job: &JobDir, ended_ms: u64) -> io::Result<()> {
    let (home, id) = job.place()?;
    history::append(&home, &Entry { ended_ms, id })
}

/// Takes the job out of what runs. Its feed and control socket go with it.
pub fn retire(job: &JobDir) -> io::Result<()> {
    let (home, id) = job.place()?;
    for path in [job.feed(), job.control(), home.live_link(&id)] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// All of it at once, for a job of which nothing is left to wait for.
pub fn settle(
    job: &JobDir,
    session: Option<&Label>,
    journal: &mut JournalWriter,
    at: Moment,
    end: End,
) -> io::Result<()> {
    record(
        make_findable(job, session),
        journal,
        at,
        end,
        After::Nothing,
    )?;
    note(job, at.wall_ms)?;
    retire(job)
}
