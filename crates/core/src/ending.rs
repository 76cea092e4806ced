//! Records the end of a job, in an order that loses nothing.
//!
//! ```text
//! spec and names synced … output synced ─► ended ─► journal synced ─► history ─► live link removed
//! ```
//!
//! First, missing links are made again, because the session learns of the end through them.
//!
//! Starting a job does not wait for the disk. So before the end is recorded for ever, everything needed
//! to find it and to tell its session must be durable: the spec, the directory with its names, and the
//! links of its session. For a job that does not end at once, a standby does this while the job runs
//! and nobody waits.
//!
//! The live link and the history are not synced. If a power loss takes them, the first verb in the next
//! boot makes them again from the jobs.
//!
//! The holder of the job's lock does all this: the keeper, or a client that settles a job without a
//! keeper. If it is killed in between, the next holder continues, because each step can be repeated.

use crate::clocks::WallTime;
use crate::confined::Confined;
use crate::event::{Event, Moment};
use crate::history::{self, Entry};
use crate::journal::JournalWriter;
use crate::layout::{self, JobDir};
use crate::links;
use crate::outcome::End;
use crate::spec::Spec;
use crate::told::{self, Told};
use std::io;

/// Whether anything can happen after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remaining {
    Lingering,
    Nothing,
}

/// Proof that somebody tried to make the job findable after a power loss.
#[derive(Clone, Copy, Debug)]
pub struct Findable {
    /// `false` if the sync failed. The end is recorded anyway, since the outcome matters more.
    pub lasts: bool,
}

/// Makes the job findable. `spec` names its links and the session to tell.
pub fn make_findable(job: &JobDir, spec: Option<&Spec>) -> Findable {
    let linked = spec.map_or(Ok(()), |spec| relink(job, spec));
    Findable {
        lasts: linked.is_ok() && sync_names(job, spec).is_ok(),
    }
}

/// Restores missing links of the job's session. A power loss may have removed them, or a process that
/// removed links and died before it finished.
pub fn relink(job: &JobDir, spec: &Spec) -> io::Result<()> {
    let (home, _) = job.place()?;
    let told = Told::read(
        &job.told(),
        spec.incarnation.as_ref(),
        &told::nobody_is_gone,
    );
    match told.is_ok_and(|told| told.is_closed() || is_told(job, &told)) {
        // Its session was ended or knows of the end, so nobody will ask for it.
        true => Ok(()),
        false => links::link_to_session(&home, spec),
    }
}

/// Whether the session was told of the end. Whoever told it has found the job, and has removed the link if all was told:
/// made again, it would stay for ever.
fn is_told(job: &JobDir, told: &Told) -> bool {
    // Most jobs have not been told of anything when they end.
    told.has_settled()
        && job.read_journal().is_ok_and(|journal| {
            let end = journal.state.end_seq;
            end.is_some_and(|seq| told.is_settled(seq))
        })
}

/// Appends the end and syncs it. After this returns, the outcome survives any crash.
pub fn record(
    _: Findable,
    journal: &mut JournalWriter,
    at: Moment,
    end: End,
    after: Remaining,
) -> io::Result<()> {
    let closed = Event::Closed {
        output_bytes: end.output_bytes,
        dropped_bytes: end.dropped_bytes,
        output_complete: end.output_complete,
    };
    let mut events = vec![Event::Ended(end)];
    if after == Remaining::Nothing {
        events.push(closed);
    }
    journal.append(at, &events)?;
    journal.sync()
}

fn sync_names(job: &JobDir, spec: Option<&Spec>) -> io::Result<()> {
    let (home, _) = job.place()?;
    // Start with the directory that other jobs change too: filesystems with a journal then sync the
    // rest along with it.
    layout::sync_directory(&home.jobs())?;
    layout::sync_directory(job.path())?;
    // `open` does not block, whatever the job has put in the place of this file.
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

/// Lets `list` and the session's inbox find the end. If this fails, the live link stays and the next
/// process that reads it tries again.
pub fn note(job: &JobDir, spec: Option<&Spec>, ended: WallTime) -> io::Result<()> {
    if let Some(spec) = spec {
        relink(job, spec)?;
    }
    let (home, id) = job.place()?;
    history::append(&home, &Entry { ended, id })
}

/// Removes the job from the running jobs, with its feeds, control socket and control groups.
pub fn retire(job: &JobDir, spec: Option<&Spec>, confined: Option<&Confined>) -> io::Result<()> {
    let (home, id) = job.place()?;
    // First, so that the link keeps the job findable for whoever repeats this.
    if let Some(confined) = confined {
        confined.remove(&home, &id);
    }
    // A job whose spec cannot be read may have had split streams.
    if spec.is_none_or(|spec| !spec.streams.is_merged()) {
        links::remove(&job.feed_of_stderr())?;
    }
    for path in [job.feed(), job.control(), home.live_link(&id)] {
        links::remove(&path)?;
    }
    Ok(())
}

/// Does all steps at once, for a job of which nothing is left to wait for.
pub fn settle(
    job: &JobDir,
    spec: Option<&Spec>,
    journal: &mut JournalWriter,
    at: Moment,
    end: End,
) -> io::Result<()> {
    record(
        make_findable(job, spec),
        journal,
        at,
        end,
        Remaining::Nothing,
    )?;
    note(job, spec, at.wall)?;
    retire(job, spec, journal.state().confined.as_ref())
}
