//! Makes sure that a job has a keeper or is over. Every verb starts here, so a job whose keepers died
//! never stays without one.
//!
//! ```text
//!  the journal says it is over ────────────────────────► Over
//!  it is a job of a place ─────────────────────────────► Away: left to the keepers there
//!  it runs on another host ────────────────────────────► Elsewhere: left alone
//!  its lock is held ───────────────────────────────────► Kept
//!  nobody holds the lock: take it, read again, then
//!     nothing can run (never started, restarted) ─ record that ──► Over
//!     something may run ─ start two new keepers: they adopt it ──► Kept, or Over
//! ```
//!
//! Only keepers ring doorbells. So a job that was recorded as over here and has doorbells gets keepers
//! too.

mod asking;
mod far;
mod recovery;
mod usurped;

use crate::clock;
use crate::environment;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::away::{self, Away, Kept};
use crate::jobs::connection::{Connection, PATIENCE};
use crate::jobs::whereabouts::{self, Elsewhere, Whereabouts};
use outlive_core::place::LOCAL;
use outlive_core::{JobDir, JobId, ProcRef, Spec, State, ending, layout, named};
use outlive_sys::lock::{self, LockResult};
use outlive_sys::process::{self, Stat};
use outlive_sys::{capture, tree};
use recovery::recover;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::thread;
use std::time::Duration;

pub use asking::{LookResult, PendingLook, answer, ask, look};
pub use far::sent_before;
pub use recovery::abandon;
pub use usurped::{is_of_keeper, take_back};

/// Whether a job has a keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has a keeper, or a launcher is about to start one.
    Kept,
    /// Nothing of the job is left, so it needs no keeper.
    Over,
    /// It may have a keeper on another host. From this host, only the job's files can be read.
    Elsewhere(Elsewhere),
    /// It is a job of a place, which is reached through its courier. What is here is a replica of its journal.
    Away(Away),
}

/// A few tries are enough: after each, the job has a live keeper or is over, unless something kills
/// every new keeper.
const MAX_TRIES: usize = 5;

/// The pause between checks for something short that sends no notification.
const SHORT_PAUSE: Duration = Duration::from_millis(1);

/// Makes sure that the job has a keeper or is over, and reads its state.
pub fn meet(outlive: &Outlive, id: &JobId) -> Result<(Presence, State), Error> {
    let met = try_to_meet(outlive, &outlive.job_dir(id), id, None, &mut Vec::new());
    let met = met.map_err(|error| outlive.unless_removed(id, error))?;
    Ok((met.presence, met.state))
}

/// A job that was met, and its first process.
#[derive(Debug)]
pub struct Met {
    pub presence: Presence,
    pub state: State,
    /// The first process of a running job that is kept here.
    pub leader: Option<Stat>,
}

/// Like [`meet`], for a job whose spec was read just now. Also looks at its first process, which tells in most cases
/// that the job has a keeper. Many jobs share the buffer.
pub fn meet_and_look(
    outlive: &Outlive,
    job: &JobDir,
    spec: &Spec,
    buffer: &mut Vec<u8>,
) -> Result<Met, Error> {
    let met = try_to_meet(outlive, job, &spec.id, Some(spec), buffer);
    met.map_err(|error| outlive.unless_removed(&spec.id, error))
}

fn try_to_meet(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    spec: Option<&Spec>,
    buffer: &mut Vec<u8>,
) -> Result<Met, Error> {
    let is_local = spec.is_some_and(|spec| spec.place == LOCAL);
    for _ in 0..MAX_TRIES {
        let state = job.read_journal_with(buffer)?.state;
        let synced = sync_end(outlive, id, &state);
        if state.is_final() {
            // Its last keeper may have died before it cleaned up, or found the disk full. If the
            // cleanup fails again, the outcome is reported anyway.
            if let Ok(true) = synced {
                let _ = clear_up(outlive, id, &state);
            }
            return Ok(Met::without_leader(Presence::Over, state));
        }
        if !is_local {
            match away::find(outlive, job, id)? {
                Kept::Here => {}
                Kept::Away(away) => return Ok(Met::without_leader(Presence::Away(away), state)),
                Kept::Settled => continue,
            }
        }
        // Find this out before we take the lock here: a held lock tells that a job in another namespace
        // is alive.
        let gone = match whereabouts::find(outlive, job, &state)? {
            Whereabouts::Here => None,
            Whereabouts::Gone(why) => Some(why),
            Whereabouts::Elsewhere(there) => {
                return Ok(Met::without_leader(Presence::Elsewhere(there), state));
            }
        };
        let leader = spec.and_then(|_| leader_now(&state));
        let is_child = leader.is_some_and(|leader| is_child_of_keeper(&leader, &state));
        // Check without opening the file for writing: the home may be read-only, and its jobs must stay
        // reachable. If something else has replaced the lock file, the code below restores it.
        if is_child || is_kept(job).unwrap_or(false) {
            return Ok(Met::kept(state, leader));
        }
        match lock::take(open_lock(job)?).map_err(Error::io("cannot take the lock", job.lock()))? {
            LockResult::Held => {}
            // The keepers hold another lock file: somebody replaced it.
            LockResult::Acquired(_) if keeper_lives(&state) => return Ok(Met::kept(state, leader)),
            LockResult::Acquired(lock) => match away::place_of(outlive, id) {
                None => recover(outlive, job, id, lock, gone)?,
                // The file about its start is missing. Nothing here can say what became of it.
                Some(place) => {
                    return Ok(Met::without_leader(Presence::Away(Away { place }), state));
                }
            },
        }
    }
    Err(Error::KeeperFailed(id.clone()))
}

impl Met {
    fn kept(state: State, leader: Option<Stat>) -> Met {
        Met {
            presence: Presence::Kept,
            state,
            leader,
        }
    }

    fn without_leader(presence: Presence, state: State) -> Met {
        Met {
            presence,
            state,
            leader: None,
        }
    }
}

/// The first process of a running job, if its number means that process on this host.
pub fn leader_now(state: &State) -> Option<Stat> {
    let leader = state.phase.leader().filter(|_| state.end().is_none())?;
    whereabouts::here()
        .ok()
        .filter(|here| here.has_processes_of(state))?;
    let stat = process::stat(leader.process.pid);
    stat.filter(|stat| stat.started == leader.process.started)
}

/// Whether the recorded keeper is the parent of this process of its job, and so is alive. When a process ends, the kernel
/// gives its children to one that existed before, so this is no later process with the number of the keeper.
fn is_child_of_keeper(leader: &Stat, state: &State) -> bool {
    let keeper = state.kept.as_ref().map(|kept| kept.keeper.pid);
    keeper == Some(leader.parent)
}

/// Whether one of the recorded keepers is still alive. A second pair beside it would take the output
/// away from it.
fn keeper_lives(state: &State) -> bool {
    let Some(kept) = &state.kept else {
        return false;
    };
    let lives = |process: &ProcRef| {
        let stat = process::stat(process.pid);
        stat.is_some_and(|stat| stat.started == process.started && !stat.is_zombie())
    };
    whereabouts::here().is_ok_and(|here| here.has_processes_of(state))
        && [Some(kept.keeper), kept.standby]
            .iter()
            .flatten()
            .any(lives)
}

/// Syncs a recorded end to disk before anybody is told about it. While the job's live link exists, the
/// writer of the end may not have synced it yet, or may have died before, so each reader syncs it too.
/// Returns whether this was needed. A disk that cannot sync does not prevent reporting the outcome.
pub(crate) fn sync_end(outlive: &Outlive, id: &JobId, state: &State) -> io::Result<bool> {
    let is_live = || outlive.home().live_link(id).symlink_metadata().is_ok();
    let is_open = state.end().is_some() && is_live();
    if is_open {
        layout::sync(&layout::open(&outlive.job_dir(id).journal())?)?;
    }
    Ok(is_open)
}

/// Cleans up after a job whose last keeper could not. The lock on the name ensures that the id does not
/// become another job's meanwhile, whose files would be removed instead.
fn clear_up(outlive: &Outlive, id: &JobId, state: &State) -> io::Result<()> {
    let job = outlive.job_dir(id);
    let Some(_named) = named::share(job.path())? else {
        return Ok(());
    };
    if !job.read_journal().is_ok_and(|now| now.state == *state) {
        return Ok(());
    }
    let spec = job.read_spec().ok();
    if spec.as_ref().is_some_and(|spec| spec.place != LOCAL) {
        return away::retire(&job, spec.as_ref());
    }
    if let Some(at) = state.ended_at() {
        ending::note(&job, spec.as_ref(), at.wall)?;
    }
    ending::retire(&job, spec.as_ref(), state.confined.as_ref())
}

fn open_lock(job: &JobDir) -> Result<File, Error> {
    layout::open_or_replace(&job.lock()).map_err(Error::io("cannot open", job.lock()))
}

/// Connects to the job's keeper. Returns `None` if the job is over.
pub fn reach(outlive: &Outlive, id: &JobId) -> Result<Option<Connection>, Error> {
    reach_within(outlive, id, PATIENCE)
}

/// Like [`reach`], with another time limit for a keeper that accepts no connections.
pub fn reach_within(
    outlive: &Outlive,
    id: &JobId,
    patience: Duration,
) -> Result<Option<Connection>, Error> {
    let job = outlive.job_dir(id);
    // After a keeper takes the lock, it needs a moment before it listens, and sends no notification.
    // This takes about a millisecond; a minute means that something is very wrong.
    let begun = clock::boot();
    loop {
        let (presence, state) = meet(outlive, id)?;
        match presence {
            Presence::Over => return Ok(None),
            Presence::Elsewhere(there) => {
                return Err(Error::Unreachable {
                    id: id.clone(),
                    reason: there.reason,
                    host: there.host,
                });
            }
            Presence::Away(away) => {
                if let Some(connection) = far::connect(outlive, &away, id, patience)? {
                    return Ok(Some(connection));
                }
                continue;
            }
            Presence::Kept => {}
        }
        if let Some(connection) = Connection::open(&job, patience)? {
            return Ok(Some(connection));
        }
        // The journal names this keeper, so its socket existed. Either the job deleted the socket or
        // the keeper is exiting.
        let limit = match keeper_lives(&state) {
            true => Duration::from_secs(1),
            false => Duration::from_secs(60),
        };
        if clock::boot() > begun + limit {
            return Err(Error::NoAnswer(id.clone()));
        }
        thread::sleep(SHORT_PAUSE);
    }
}

/// Whether something of a job may be running, as far as one can tell without adopting it. If in doubt,
/// returns `true`.
pub fn may_run(outlive: &Outlive, id: &JobId) -> bool {
    let job = outlive.job_dir(id);
    let is_final = job.read_journal().map(|journal| journal.state.is_final());
    let whereabouts = match job.read_journal() {
        Ok(journal) => whereabouts::find(outlive, &job, &journal.state),
        // The job's host is unknown, so look for it here.
        Err(_) => Ok(Whereabouts::Here),
    };
    match whereabouts {
        _ if matches!(is_final, Ok(true)) => false,
        Ok(Whereabouts::Gone(_)) => false,
        Ok(Whereabouts::Elsewhere(_)) | Err(_) => true,
        // Look for a keeper, for a process that holds the output open, or for a process with the job's
        // variables.
        Ok(Whereabouts::Here) => {
            is_kept(&job).unwrap_or(true)
                || capture::is_open(&job.feed()).unwrap_or(true)
                || has_marked_processes(&job).unwrap_or(true)
                || leader_lives(&job)
        }
    }
}

/// Whether the process runs that an adopted job was made of, which has neither the output open nor the mark.
fn leader_lives(job: &JobDir) -> bool {
    let Ok(Some(adopted)) = job.read_spec().map(|spec| spec.adopted) else {
        return false;
    };
    let stat = process::stat(adopted.process.pid);
    stat.is_some_and(|stat| stat.started == adopted.process.started && !stat.is_zombie())
}

/// Whether a process runs that was started as part of this job.
fn has_marked_processes(job: &JobDir) -> io::Result<bool> {
    for pid in tree::all()? {
        let mark = process::started_with(pid, environment::JOB_DIR)?;
        let is_marked = mark.is_some_and(|mark| mark == job.path().as_os_str().as_bytes());
        if is_marked && process::look(pid)?.is_some_and(|stat| !stat.is_zombie()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a process holds the job's lock. A damaged directory may have no lock file.
pub fn is_kept(job: &JobDir) -> io::Result<bool> {
    match layout::open(&job.lock()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        other => lock::is_taken(&other?),
    }
}
