//! A process that somebody else started, looked at before it becomes a job.
//!
//! The process is opened first and looked at afterwards, so everything that is found belongs to one process, even if
//! its number is reused meanwhile. What must not become a job is refused, with the reason.

use crate::clock;
use crate::environment;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::whereabouts;
use outlive_core::adopted::{Adopted, AdoptedProcess};
use outlive_core::os_text::OsText;
use outlive_core::{BootTime, JobDir, JobId, ProcRef, State, Timestamp};
use outlive_sys::offers;
use outlive_sys::process::{self, Delivered, PidFd, Stat, own};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A process that may become a job.
#[derive(Debug)]
pub(crate) struct Adoptable {
    pub adopted: Adopted,
    pub argv: Vec<OsText>,
    pub directory: PathBuf,
}

/// Why a process cannot become a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdoptable {
    /// No process has this number.
    #[error("there is no such process")]
    Gone,
    /// It is a zombie.
    #[error("it has ended")]
    Ended,
    /// Everything here depends on it.
    #[error("it is the first process of this system or container")]
    First,
    /// It is the caller itself.
    #[error("it is this process itself")]
    Caller,
    /// It is the caller's shell, agent or terminal, for example.
    #[error(
        "it started this process, directly or not, so a stop of the job would end this process, too"
    )]
    Ancestor,
    /// It runs no program.
    #[error("it is a thread of the kernel")]
    KernelThread,
    /// Its signals need more rights.
    #[error("it belongs to another user, so it could not be stopped")]
    OtherUser,
    /// It supervises a job.
    #[error("it is the keeper of job {0}")]
    Keeper(JobId),
    /// It runs as a part of a job.
    #[error("it belongs to job {0}")]
    OfJob(JobId),
}

/// Looks at a process. `force` accepts one that is an ancestor of the caller.
pub(crate) fn find(outlive: &Outlive, pid: i32, force: bool) -> Result<Adoptable, Error> {
    let refuse = |why| Error::NotAdoptable { pid, why };
    let failed = || {
        Error::io(
            "cannot look at the process",
            Path::new("/proc").join(pid.to_string()),
        )
    };
    let opened = PidFd::open(pid).map_err(failed())?;
    let pidfd = opened.ok_or(refuse(NotAdoptable::Gone))?;
    let stat = process::look(pid).map_err(failed())?;
    let stat = stat.ok_or(refuse(NotAdoptable::Gone))?;
    if let Some(why) = refusal(pid, &stat, force) {
        return Err(refuse(why));
    }
    match pidfd.may_signal().map_err(failed())? {
        Delivered::Yes => {}
        Delivered::AlreadyGone => return Err(refuse(NotAdoptable::Gone)),
        Delivered::Denied => return Err(refuse(NotAdoptable::OtherUser)),
    }
    let started = stat.started;
    let process = ProcRef { pid, started };
    if let Some(why) = job_of(outlive, process)? {
        return Err(refuse(why));
    }
    let text = |path: PathBuf| OsText::from(path.into_os_string());
    let argv = process::arguments(pid).into_iter().map(OsText::from);
    let found = Adoptable {
        argv: argv.collect(),
        directory: process::directory(pid).unwrap_or_else(|| "/".into()),
        adopted: Adopted {
            process,
            as_found: AdoptedProcess {
                process_started_at: wall_time(started),
                stdout: process::opened(pid, 1).map(text),
                stderr: process::opened(pid, 2).map(text),
                outcome_is_told: offers::exit_records().unwrap_or(false),
            },
        },
    };
    // If it runs now, all of this was read from it.
    match pidfd.may_signal().map_err(failed())? {
        Delivered::Yes if !found.argv.is_empty() => Ok(found),
        _ => Err(refuse(NotAdoptable::Ended)),
    }
}

/// What speaks against it, apart from jobs and rights.
fn refusal(pid: i32, stat: &Stat, force: bool) -> Option<NotAdoptable> {
    if pid == 1 {
        return Some(NotAdoptable::First);
    }
    if pid == own::pid() {
        return Some(NotAdoptable::Caller);
    }
    if stat.is_kernel_thread() {
        return Some(NotAdoptable::KernelThread);
    }
    if stat.is_zombie() {
        return Some(NotAdoptable::Ended);
    }
    let is_ancestor = || ancestors(own::pid()).iter().any(|one| one.pid == pid);
    (!force && is_ancestor()).then_some(NotAdoptable::Ancestor)
}

/// The processes that a process descends from, the closest first.
fn ancestors(pid: i32) -> Vec<ProcRef> {
    let mut found: Vec<ProcRef> = Vec::new();
    let mut next = process::stat(pid).map(|stat| stat.parent);
    while let Some(pid) = next.filter(|pid| *pid > 0)
        && let Some(stat) = process::stat(pid)
        // Processes that change meanwhile could otherwise lead in a circle.
        && found.iter().all(|one| one.pid != pid)
    {
        let started = stat.started;
        found.push(ProcRef { pid, started });
        next = Some(stat.parent);
    }
    found
}

/// The job that a process belongs to or keeps. It is told by the mark in its environment, in any home, and for a process
/// without a mark by the processes that it descends from, in this home.
fn job_of(outlive: &Outlive, process: ProcRef) -> Result<Option<NotAdoptable>, Error> {
    let mark = process::started_with(process.pid, environment::JOB_DIR)
        .ok()
        .flatten();
    let marked = mark.map(|mark| JobDir::at(OsStr::from_bytes(&mark).into()));
    if let Some(job) = marked
        && let Ok((_, id)) = job.place()
        && let Ok(journal) = job.read_journal()
        && !journal.state.is_final()
    {
        return Ok(Some(role(&journal.state, process, id)));
    }
    let mut line = ancestors(process.pid);
    line.insert(0, process);
    let here = whereabouts::here()?;
    for id in outlive.live_ids()? {
        let Ok(journal) = outlive.job_dir(&id).read_journal() else {
            continue;
        };
        let state = journal.state;
        let is_ours = |one: &ProcRef| is_leader(&state, *one) || is_keeper(&state, *one);
        if !state.is_final() && here.has_processes_of(&state) && line.iter().any(is_ours) {
            return Ok(Some(role(&state, process, id)));
        }
    }
    Ok(None)
}

fn role(state: &State, process: ProcRef, id: JobId) -> NotAdoptable {
    match is_keeper(state, process) {
        true => NotAdoptable::Keeper(id),
        false => NotAdoptable::OfJob(id),
    }
}

fn is_leader(state: &State, process: ProcRef) -> bool {
    let leader = state.phase.leader();
    leader.is_some_and(|leader| leader.process == process)
}

fn is_keeper(state: &State, process: ProcRef) -> bool {
    let kept = state.kept.as_ref();
    kept.is_some_and(|kept| kept.keeper == process || kept.standby == Some(process))
}

/// The wall-clock time of a moment that the kernel counts in ticks since boot.
fn wall_time(ticks: u64) -> Timestamp {
    const MS_PER_TICK: u64 = 10;
    let age = clock::boot().since(BootTime::from_ms(ticks * MS_PER_TICK));
    (clock::wall() - age).into()
}
