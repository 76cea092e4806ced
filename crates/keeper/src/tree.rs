//! Which processes are the job's.
//!
//! A keeper is a subreaper, so every descendant of the job is a descendant of the keeper: found by
//! walking down from it, however the process detached itself. Walking stops at processes marked as
//! another job's (a job may start jobs; those outlive it). After an adoption that no longer holds,
//! since orphans of a dead pair went elsewhere; then all processes are searched for this job's mark
//! and, while the leader lives, for its session.

use crate::{MARK, errand};
use outlive_core::{JobDir, ProcRef, layout};
use outlive_sys::pidfd::{Delivered, PidFd};
use outlive_sys::{lock, own, procfs};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How the job's processes are told from others.
#[derive(Debug)]
pub struct Tree {
    mark: Vec<u8>,
    /// The leader, once it is known that not every process descends from this keeper.
    adopted: Option<ProcRef>,
}

/// One process of the job.
#[derive(Debug)]
pub struct Member {
    pub process: ProcRef,
    pub pidfd: PidFd,
}

/// What became of a signal to the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signaled {
    pub reached: u32,
    pub denied: u32,
}

impl Tree {
    pub fn new(directory: &Path, adopted: Option<ProcRef>) -> Tree {
        Tree {
            mark: directory.as_os_str().as_bytes().to_vec(),
            adopted,
        }
    }

    /// Whether members are children or grandchildren of this process, whose ends it hears of.
    pub fn is_own(&self) -> bool {
        self.adopted.is_none()
    }

    /// The processes of the job that run now.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        self.find(HashSet::new())
    }

    /// The same beside a child of ours that has ended and not been waited for: its children are ours now.
    pub fn members_beside(&self, ended: i32) -> io::Result<Vec<Member>> {
        self.find(HashSet::from([ended]))
    }

    /// Those that are not known already, nor descend from one that is.
    fn find(&self, known: HashSet<i32>) -> io::Result<Vec<Member>> {
        let mut found = known.clone();
        self.walk(own::pid(), &mut found)?;
        if let Some(leader) = self.adopted {
            self.search(leader, &mut found)?;
        }
        found
            .difference(&known)
            .filter_map(|pid| member(*pid).transpose())
            .collect()
    }

    /// Adds the descendants of `parent`.
    fn walk(&self, parent: i32, found: &mut HashSet<i32>) -> io::Result<()> {
        let mut parents = vec![parent];
        while let Some(parent) = parents.pop() {
            for child in procfs::children(parent)? {
                if !found.contains(&child) && !self.is_foreign(child) {
                    found.insert(child);
                    parents.push(child);
                }
            }
        }
        Ok(())
    }

    /// Whether a process is another job's. A mark is believed only where there is such a job.
    fn is_foreign(&self, pid: i32) -> bool {
        match procfs::started_with(pid, MARK) {
            Some(mark) if mark == self.mark => false,
            Some(mark) => mark == errand::mark(&self.mark) || is_kept(&mark),
            // Also what just executes another program, and shows none for a moment. The job's processes
            // are in its leader's session or later ones; in this keeper's are only its errands.
            None => procfs::stat(pid).map(|stat| stat.session) == own_session(),
        }
    }

    /// Adds what bears this job's mark or is in the leader's session, with its descendants.
    fn search(&self, leader: ProcRef, found: &mut HashSet<i32>) -> io::Result<()> {
        // Once the leader is gone its number may be another session's.
        let leads = procfs::stat(leader.pid).is_some_and(|stat| stat.started == leader.started);
        for pid in procfs::all()? {
            let in_session =
                || leads && procfs::stat(pid).is_some_and(|stat| stat.session == leader.pid);
            let ours = match procfs::started_with(pid, MARK) {
                Some(mark) => mark == self.mark,
                None => in_session(),
            };
            // The keepers bear the mark too; they are what keeps, not what is kept.
            if ours && !is_keeper(pid) && found.insert(pid) {
                self.walk(pid, found)?;
            }
        }
        Ok(())
    }
}

fn own_session() -> Option<i32> {
    procfs::stat(own::pid()).map(|stat| stat.session)
}

/// Whether this directory is a job's that somebody keeps.
fn is_kept(mark: &[u8]) -> bool {
    let job = JobDir::at(OsStr::from_bytes(mark).into());
    layout::open(&job.lock())
        .and_then(|file| lock::is_taken(&file))
        .unwrap_or(false)
}

/// This process and its standby.
fn is_keeper(pid: i32) -> bool {
    pid == own::pid() || own::parent_pid() == Some(pid)
}

fn member(pid: i32) -> io::Result<Option<Member>> {
    let Some(pidfd) = PidFd::open(pid)? else {
        return Ok(None);
    };
    // Read after opening, so that both speak of one process.
    Ok(procfs::look(pid)?
        .filter(|stat| !stat.is_zombie())
        .map(|stat| Member {
            process: ProcRef {
                pid,
                started: stat.started,
            },
            pidfd,
        }))
}

/// Sends one signal to each.
pub fn signal<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    number: i32,
) -> io::Result<Signaled> {
    let mut signaled = Signaled::default();
    for member in members {
        match member.pidfd.signal(number)? {
            Delivered::Yes => signaled.reached += 1,
            Delivered::Denied => signaled.denied += 1,
            Delivered::AlreadyGone => {}
        }
    }
    Ok(signaled)
}
