//! Takes a job back from a process of its own that answers in the place of its keeper.
//!
//! A job owns its directory, so it can replace the keeper's socket by one of its own and refuse every stop, or claim
//! that it was stopped. The journal shows the lie: a keeper answers a stop after it recorded the end, and refuses one
//! only if nothing of the job runs any more and the end cannot be recorded.
//!
//! The keepers cannot be reached then. So they are killed, as any of our processes may be at any time. The lock is free,
//! so the stop can be journaled here, and the next pair carries it out. It takes the socket's place too.
//!
//! This helps against a job that took the socket. A job can also damage its journal, or kill its keepers itself.

use super::{PATIENCE, SHORT_PAUSE, keeper_lives, open_lock, recover, whereabouts};
use crate::clock;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::hooks::{self, StopperHook};
use crate::jobs::away;
use crate::jobs::connection::Answer;
use crate::moment::now;
use outlive_core::control::Reply;
use outlive_core::event::{Event, StopRequest};
use outlive_core::{JobDir, JobId, JournalWriter, Phase, ProcRef, State};
use outlive_sys::lock::{self, LockResult};
use outlive_sys::process::{self, PidFd};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::thread;

/// Signals that suspend and end a process, as Linux numbers them.
const SIGSTOP: i32 = 19;
const SIGKILL: i32 = 9;

/// Whether a keeper of this job can have answered a stop in this way. In doubt, it can: a keeper must not be killed for
/// nothing.
pub fn is_of_keeper(outlive: &Outlive, id: &JobId, answer: &Result<Answer, Error>) -> bool {
    let Ok(journal) = outlive.job_dir(id).read_journal() else {
        return true;
    };
    // At a place, nobody can be killed from here. The far end knows its keepers.
    if away::place_of(outlive, id).is_some() {
        return true;
    }
    let has_ended = journal.state.end().is_some();
    match answer {
        Ok(Answer::Reply(Reply::Stopped)) => has_ended,
        Ok(Answer::Reply(_)) => false,
        Err(Error::RefusedByKeeper { .. } | Error::ReadsNothing(_) | Error::NotResizable(_)) => {
            !has_ended && !leader_lives(&journal.state)
        }
        Ok(Answer::KeeperGone) | Err(_) => true,
    }
}

fn leader_lives(state: &State) -> bool {
    let leader = match &state.phase {
        Phase::Spawned(leader) | Phase::Running(leader) | Phase::Stopping(leader, _) => leader,
        Phase::Unwritten | Phase::Accepted | Phase::Backoff { .. } | Phase::Ended { .. } => {
            return false;
        }
    };
    let stat = process::stat(leader.process.pid);
    is_here(state)
        && stat.is_some_and(|stat| stat.started == leader.process.started && !stat.is_zombie())
}

fn is_here(state: &State) -> bool {
    whereabouts::here().is_ok_and(|here| here.has_processes_of(state))
}

/// Replaces the keepers of the job by new ones, which stop it.
pub fn take_back(outlive: &Outlive, id: &JobId, stop: &StopRequest) -> Result<(), Error> {
    let job = outlive.job_dir(id);
    let until = clock::boot() + PATIENCE;
    while clock::boot() < until {
        let state = job.read_journal()?.state;
        if state.is_final() {
            return Ok(());
        }
        if !is_here(&state) {
            break;
        }
        let failed = || Error::io("cannot replace the keeper of", job.path());
        kill_pair(&job, &state).map_err(failed())?;
        hooks::reach_stopper(StopperHook::PairKilled);
        match lock::take(open_lock(&job)?).map_err(failed())? {
            LockResult::Acquired(lock) if !keeper_lives(&state) => {
                note(&job, stop)?;
                hooks::reach_stopper(StopperHook::StopNoted);
                return recover(outlive, &job, id, lock, None);
            }
            // One of them has started another one just before.
            LockResult::Acquired(_) | LockResult::Held => thread::sleep(SHORT_PAUSE),
        }
    }
    Err(Error::NoAnswer(id.clone()))
}

/// Journals the stop of a job that runs. The caller holds the lock.
fn note(job: &JobDir, stop: &StopRequest) -> Result<(), Error> {
    let mut journal = JournalWriter::open(&job.journal())?;
    if let Phase::Running(_) = journal.state().phase {
        journal
            .append(now(), &[Event::StopRequested(stop.clone())])
            .map_err(Error::io("cannot write the journal of", job.path()))?;
    }
    Ok(())
}

/// Kills both keepers. Both are suspended first, so that neither replaces the other.
fn kill_pair(job: &JobDir, state: &State) -> io::Result<()> {
    let kept = state.kept.iter();
    let pair = kept.flat_map(|kept| [kept.standby, Some(kept.keeper)]);
    let keepers = pair.flatten().filter(|one| is_keeper(job, one));
    let opened = keepers.map(|one| PidFd::open_started(one.pid, one.started));
    let opened: Vec<PidFd> = opened
        .filter_map(Result::transpose)
        .collect::<io::Result<_>>()?;
    for signal in [SIGSTOP, SIGKILL] {
        for keeper in &opened {
            keeper.signal(signal)?;
        }
    }
    for keeper in &opened {
        keeper.wait_for_end(Some(PATIENCE))?;
    }
    Ok(())
}

/// Whether the process was started as a keeper of this job. The job may have written another one into its journal.
fn is_keeper(job: &JobDir, one: &ProcRef) -> bool {
    let arguments = process::arguments(one.pid);
    let directory = arguments.get(1).map(|path| OsStr::from_bytes(path));
    match (
        directory.map(fs::canonicalize),
        fs::canonicalize(job.path()),
    ) {
        (Some(Ok(directory)), Ok(own)) => directory == own,
        _ => false,
    }
}
