//! Writing an end down, in the order that loses nothing.
//!
//! ```text
//! output synced ─► ended ─► journal synced ─► history ─► live link removed
//! ```
//! Whoever holds the job's lock does this: the keeper, or a client that settles a job no keeper can
//! help any more. Killed in between, the next holder goes on: each step can be repeated.

use crate::event::{Event, Moment};
use crate::history::{self, Entry};
use crate::journal::JournalWriter;
use crate::layout::JobDir;
use crate::outcome::End;
use std::fs;
use std::io;

/// Whether anything can come after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    Lingering,
    Nothing,
}

/// Appends the end and syncs it. Once this returns, the outcome is known for ever.
pub fn record(journal: &mut JournalWriter, at: Moment, end: End, after: After) -> io::Result<()> {
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
pub fn settle(job: &JobDir, journal: &mut JournalWriter, at: Moment, end: End) -> io::Result<()> {
    record(journal, at, end, After::Nothing)?;
    note(job, at.wall_ms)?;
    retire(job)
}
