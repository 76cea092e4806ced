//! Which processes are the job's.
//!
//! A keeper is a subreaper, so every descendant of the job is a descendant of the keeper. It is found by walking down from
//! the keeper (`walk.rs`), however the process detached itself. The walk skips processes that are marked as another job's,
//! since a job may start other jobs, which may live longer than it does. A process that runs another job in the foreground is an exception: it
//! belongs to this job, and stops its own. The leader always belongs to the job. After an adoption this does not hold,
//! because orphans of a dead pair have other parents. Then all processes are searched for this job's mark and, while the
//! leader lives, for its session.

use crate::MARK;
use crate::errands::errand;
use crate::hooks;
use crate::pair::front;
use crate::tree::foreign::Foreign;
use crate::tree::walk::{self, Look, Processes, Range, Sure};
use outlive_core::signal::Signal;
use outlive_core::{JobDir, ProcRef, layout};
use outlive_sys::process::own;
use outlive_sys::process::{self, Delivered, PidFd};
use outlive_sys::{lock, tree};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Tells the job's processes from other processes.
#[derive(Debug)]
pub struct Tree {
    mark: Vec<u8>,
    pub leader: Option<ProcRef>,
    /// Not every process of the job descends from this keeper, so all processes are searched.
    is_adopted: bool,
    /// This keeper is a front. It may have had children before, and may get orphans of other programs.
    pub is_front: bool,
    /// The standby. It is not one of the job's processes, though it may be a child of this keeper.
    pub partner: Option<i32>,
    /// A process that would stop the job for the keeper (`guard.rs`).
    pub guard: Option<i32>,
    /// The keeper, whose descendants are searched. A guard also uses it.
    keeper: i32,
    /// Set if the job was made of a process that ran already. Its processes have no mark.
    pub foreign: Option<Box<Foreign>>,
}

/// One process of the job.
#[derive(Debug)]
pub struct Member {
    pub process: ProcRef,
    pub pidfd: PidFd,
}

/// Processes of the job.
#[derive(Debug)]
pub struct Members {
    pub list: Vec<Member>,
    pub sure: Sure,
}

/// How many walks are done if all processes that were found have ended.
const MAX_TRIES: usize = 4;

/// What became of a signal to the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signaled {
    pub reached: u32,
    pub denied: u32,
}

impl Tree {
    pub fn new(directory: &Path, leader: Option<ProcRef>, is_adopted: bool) -> Tree {
        Tree {
            mark: directory.as_os_str().as_bytes().to_vec(),
            leader,
            is_adopted: is_adopted && leader.is_some(),
            is_front: false,
            partner: None,
            guard: None,
            keeper: own::pid(),
            foreign: None,
        }
    }

    /// Whether the members descend from this process, so that it is told of their ends.
    pub fn is_own(&self) -> bool {
        !self.is_adopted
    }

    /// The job's running processes. Fails if none was found and some may have been missed: that none is left is never
    /// a guess.
    pub fn members(&self) -> io::Result<Vec<Member>> {
        self.find(None)?.unless_missed()
    }

    /// The same while a child of this process has ended and is not reaped. Its children are this process's children
    /// now.
    pub fn members_beside(&self, ended: i32) -> io::Result<Vec<Member>> {
        self.find(Some(ended))?.unless_missed()
    }

    /// The processes found, and whether these are all.
    pub fn found(&self) -> io::Result<Members> {
        self.find(None)
    }

    /// Kills descendants in one pass, each as soon as it is found, and reaps orphans that have ended, except those in
    /// `spare`. Returns how many were killed. A process that forks and ends at once is faster than a walk that must be
    /// sure. But a killed process forks no more.
    pub fn kill_on_sight(&self, spare: &[i32]) -> io::Result<u32> {
        let mut killed = 0;
        let mut parents = vec![self.keeper];
        while let Some(parent) = parents.pop() {
            for child in tree::children(parent)? {
                let (Some(pidfd), Some(stat)) = (PidFd::open(child)?, process::look(child)?) else {
                    continue;
                };
                if stat.is_zombie() && parent == own::pid() && !spare.contains(&child) {
                    let _ = pidfd.reap();
                }
                if stat.is_zombie() || stat.parent != parent || self.is_foreign(child)? {
                    continue;
                }
                if pidfd.signal(Signal::KILL.linux_number())? == Delivered::Yes {
                    killed += 1;
                }
                parents.push(child);
            }
        }
        Ok(killed)
    }

    fn find(&self, ended: Option<i32>) -> io::Result<Members> {
        let range = match self.is_adopted {
            true => Range::Anywhere,
            false => Range::Descendants,
        };
        for _ in 0..MAX_TRIES {
            let found = walk::find(self, range, self.keeper, ended)?;
            if let Some(foreign) = &self.foreign {
                foreign.remember(&found.processes);
            }
            let opened = found.processes.iter().map(|process| member(*process));
            let list: Vec<Member> = opened
                .filter_map(Result::transpose)
                .collect::<Result<_, _>>()?;
            // All processes found may have ended since, after they forked others.
            if !list.is_empty() || found.processes.is_empty() {
                return Ok(Members {
                    list,
                    sure: found.sure,
                });
            }
        }
        Ok(Members {
            list: Vec::new(),
            sure: Sure::No,
        })
    }
}

impl Members {
    fn unless_missed(self) -> io::Result<Vec<Member>> {
        match (self.list.is_empty(), self.sure) {
            (true, Sure::No) => Err(unsure()),
            _ => Ok(self.list),
        }
    }
}

/// The error if some processes may have been missed. The keeper retries after a pause.
pub fn unsure() -> io::Error {
    io::Error::new(
        io::ErrorKind::WouldBlock,
        "the job's processes change faster than they can be listed",
    )
}

impl Processes for Tree {
    fn children(&self, parent: i32) -> io::Result<Vec<i32>> {
        let children = tree::children(parent)?;
        if parent == self.keeper {
            hooks::own_children_read();
        }
        Ok(children)
    }

    fn all(&self) -> io::Result<Vec<i32>> {
        tree::all()
    }

    fn look(&self, pid: i32) -> io::Result<Option<Look>> {
        let look = |stat: process::Stat| Look {
            parent: stat.parent,
            started: stat.started,
            ended: stat.is_zombie(),
        };
        Ok(process::look(pid)?.map(look))
    }

    /// Whether a process belongs to another job. A mark counts only if that job has a keeper.
    fn is_foreign(&self, pid: i32) -> io::Result<bool> {
        if self.is_keeper(pid) {
            return Ok(true);
        }
        match process::started_with(pid, MARK)? {
            Some(mark) if mark == self.mark => Ok(false),
            Some(mark) if mark == errand::mark(&self.mark) => Ok(true),
            _ if self.is_leader(pid)? => Ok(false),
            _ if self.is_strange_child(pid)? => Ok(true),
            Some(mark) => Ok(is_kept(errand::sender(&mark))? && !front::is_front(pid)),
            // A process that is just executing a program shows no mark for a moment. The job's processes are in the
            // leader's session or in later ones. Only errands are in the keeper's session.
            None => Ok(session(pid)? == session(self.keeper)?),
        }
    }

    /// Whether a process has this job's mark or is in the leader's session.
    fn is_ours(&self, pid: i32) -> io::Result<bool> {
        if let (Some(foreign), Some(leader)) = (&self.foreign, self.leader) {
            return Ok(!self.is_keeper(pid) && foreign.has(pid, leader)?);
        }
        let ours = match process::started_with(pid, MARK)? {
            Some(mark) if mark == self.mark => true,
            Some(_) => self.is_in_session(pid)? && (self.is_leader(pid)? || front::is_front(pid)),
            None => self.is_in_session(pid)?,
        };
        // The keepers have the mark, too, but are not part of the job.
        Ok(ours && !self.is_keeper(pid))
    }
}

impl Tree {
    /// Whether it is this process, the keeper, its standby or its guard, or the parent, which may have been a standby.
    fn is_keeper(&self, pid: i32) -> bool {
        [Some(self.keeper), self.partner, self.guard].contains(&Some(pid))
            || pid == own::pid()
            || own::parent_pid() == Some(pid)
    }

    fn is_leader(&self, pid: i32) -> io::Result<bool> {
        let Some(leader) = self.leader.filter(|leader| leader.pid == pid) else {
            return Ok(false);
        };
        Ok(process::look(pid)?.is_some_and(|stat| stat.started == leader.started))
    }

    /// Whether a process without the job's mark is a child of this front but not the job's: the front had it before,
    /// or got it as an orphan of another program.
    fn is_strange_child(&self, pid: i32) -> io::Result<bool> {
        if !self.is_front {
            return Ok(false);
        }
        let look = process::look(pid)?;
        Ok(look.is_some_and(|stat| stat.parent == self.keeper) && !self.is_in_session(pid)?)
    }

    fn is_in_session(&self, pid: i32) -> io::Result<bool> {
        let Some(leader) = self.leader else {
            return Ok(false);
        };
        if session(pid)? != Some(leader.pid) {
            return Ok(false);
        }
        // Once the leader is gone, its number may be another session's.
        let now = process::look(leader.pid)?;
        Ok(now.is_some_and(|stat| stat.started == leader.started))
    }
}

/// The session of a process. `None` if the process is gone.
fn session(pid: i32) -> io::Result<Option<i32>> {
    Ok(process::look(pid)?.map(|stat| stat.session))
}

/// Whether this directory is that of a job that has a keeper.
fn is_kept(mark: &[u8]) -> io::Result<bool> {
    let job = JobDir::at(OsStr::from_bytes(mark).into());
    match layout::open(&job.lock()) {
        Ok(file) => lock::is_taken(&file),
        // No descriptor is free to check with.
        Err(error) if is_scarcity(&error) => Err(error),
        // It is not the directory of a job.
        Err(_) => Ok(false),
    }
}

fn is_scarcity(error: &io::Error) -> bool {
    const TOO_MANY_OPEN_FILES: [i32; 2] = [23, 24];
    let number = error.raw_os_error();
    error.kind() == io::ErrorKind::OutOfMemory
        || number.is_some_and(|number| TOO_MANY_OPEN_FILES.contains(&number))
}

fn member(process: ProcRef) -> io::Result<Option<Member>> {
    let Some(pidfd) = PidFd::open(process.pid)? else {
        return Ok(None);
    };
    // Read after opening, so that both refer to the same process.
    Ok(process::look(process.pid)?
        .filter(|stat| !stat.is_zombie() && stat.started == process.started)
        .map(|_| Member { process, pidfd }))
}

/// Sends a signal to each member.
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
