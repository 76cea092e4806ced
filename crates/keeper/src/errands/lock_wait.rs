//! Waiting for a named lock, which only one job at a time has.
//!
//! Both keepers share one open file description of the lock file, so the lock is held while one of them lives. The kernel does not
//! report when a lock becomes free; there is only a call that sleeps until then. So a process of its own makes that call
//! on the same open file, and when it ends, the keepers have the lock.
//!
//! A job whose keepers were both killed has lost its lock and may still run. Its id is in the file, and whoever gets the
//! lock next waits for that job to end.

use crate::tree::host;
use outlive_core::layout;
use outlive_core::{Home, JobDir, JobId, Label, Phase};
use outlive_sys::lock::{self, LockResult};
use outlive_sys::process::PidFd;
use outlive_sys::process::own;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};

/// The lock of a job that has one, held or not.
#[derive(Debug)]
pub struct NamedLock {
    file: File,
    job: JobDir,
}

/// Whether this job has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    Ours,
    /// Another job has it.
    Held,
}

impl NamedLock {
    pub fn open(job: &JobDir, name: &Label) -> io::Result<NamedLock> {
        let (home, _) = job.place()?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(home.locks())?;
        let file = layout::open_or_make(&home.lock(name))?;
        Ok(NamedLock {
            file,
            job: job.clone(),
        })
    }

    /// Takes the lock if it is free and no job that lost it with its keepers still runs.
    pub fn take(&self) -> io::Result<LockState> {
        match lock::take(self.file.try_clone()?)? {
            LockResult::Held => Ok(LockState::Held),
            LockResult::Acquired(_) if unkept_holder(&self.job, &self.file)?.is_some() => {
                Ok(LockState::Held)
            }
            LockResult::Acquired(_) => self.sign().map(|()| LockState::Ours),
        }
    }

    /// The open file, for a process that waits on the keepers' behalf.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Writes this job's id into the file.
    pub fn sign(&self) -> io::Result<()> {
        let (_, id) = self.job.place()?;
        // A successor finds the id written already, and others may read the file at any moment.
        if holder(&self.file).as_ref() != Some(&id) {
            // Best effort on a full disk: the id is for people, and for a job that loses its lock while it runs.
            let _ = self.file.set_len(0);
            let _ = self.file.write_all_at(id.as_str().as_bytes(), 0);
        }
        Ok(())
    }

    /// Takes the lock again for a running job that lost it with its keepers. If another job's keepers took it
    /// meanwhile, it stays theirs: they wait for this job.
    pub fn retake(&self) {
        let is_mine = self.file.try_clone().and_then(lock::take);
        if let (Ok(LockResult::Acquired(_)), None) = (is_mine, holder(&self.file)) {
            let _ = self.sign();
        }
    }

    /// Releases the lock for the next job. If another job has it, nothing happens. The id in the file is removed only
    /// if it is this job's.
    pub fn release(&self) {
        let Ok(LockResult::Acquired(_)) = self.file.try_clone().and_then(lock::take) else {
            return;
        };
        let own = self.job.place().ok().map(|(_, id)| id);
        if holder(&self.file) == own {
            let _ = self.file.set_len(0);
        }
        let _ = lock::release(&self.file);
    }
}

/// Sleeps until this job's keepers have the lock. This is all that the waiting process does. Its standard input is the
/// lock's file.
pub fn wait(job: &JobDir, parent: i32) -> io::Result<()> {
    own::die_with_parent(parent)?;
    let file = own::take_handed_down()?.input;
    lock::wait(&file)?;
    match unkept_holder(job, &file)? {
        Some(process) => process.wait_for_end(None).map(drop),
        None => Ok(()),
    }
}

/// The leader of the job whose id is in the file, if it still runs. Call this while holding the lock: then that job
/// has no keeper.
fn unkept_holder(job: &JobDir, file: &File) -> io::Result<Option<PidFd>> {
    let (home, own) = job.place()?;
    let Some(holder) = holder(file).filter(|holder| *holder != own) else {
        return Ok(None);
    };
    running_leader(&home, &holder)
}

/// The id in a lock's file.
pub fn holder(file: &File) -> Option<JobId> {
    let mut bytes = [0; 64];
    let count = file.read_at(&mut bytes, 0).ok()?;
    JobId::parse(str::from_utf8(&bytes[..count]).ok()?).ok()
}

/// The leader of a job without keepers, if it still runs.
pub fn running_leader(home: &Home, id: &JobId) -> io::Result<Option<PidFd>> {
    let Ok(journal) = home.job(id).read_journal() else {
        return Ok(None);
    };
    let state = journal.state;
    match &state.phase {
        Phase::Spawned(leader) | Phase::Running(leader) | Phase::Stopping(leader, _)
            if host::has_processes_of(&state) =>
        {
            PidFd::open_started(leader.process.pid, leader.process.started)
        }
        _ => Ok(None),
    }
}
