//! Processes that a keeper runs for itself: to wait for the lock, to find out whether the job is ready, to ring a
//! doorbell.
//!
//! They are not part of the job, and their mark says so: stopping the job leaves them alone. Those that run this program
//! end with the keeper that started them, and its successor starts its own.

use crate::MARK;
use outlive_core::signal::Signal;
use outlive_core::{BootTime, JobDir};
use outlive_sys::process::own;
use outlive_sys::process::{self, PidFd};
use outlive_sys::{file, spawn, tree};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const SUFFIX: &[u8] = b"#errand";

/// The mark of processes that work for the keeper of the job with this mark.
pub fn mark(job: &[u8]) -> Vec<u8> {
    [job, SUFFIX].concat()
}

/// The mark of the job that a process with this mark works for, or is one of.
pub fn sender(mark: &[u8]) -> &[u8] {
    mark.strip_suffix(SUFFIX).unwrap_or(mark)
}

/// What a process is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Wait until the job has its lock.
    WaitForLock,
    /// See when the job is ready.
    Probe,
    /// Ring the doorbell with this number in the spec.
    Doorbell(usize),
}

/// A process at work.
#[derive(Debug)]
pub struct Errand {
    pub pid: i32,
    pub task: Task,
    pub limit: TimeLimit,
    /// What it says about failing.
    words: File,
}

/// How long one may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    Unlimited,
    Until(BootTime),
    /// It was ended because it took too long.
    Exceeded,
}

/// The most that is told of what a failed one said.
const WORDS: usize = 300;

/// Starts a command for this job, with its mark.
pub fn send(job: &JobDir, command: &mut Command) -> io::Result<Child> {
    let mark = mark(job.path().as_os_str().as_bytes());
    spawn::start(command.env(MARK, OsStr::from_bytes(&mark)))
}

impl Errand {
    /// Starts a command that reads `input`.
    pub fn start(
        job: &JobDir,
        task: Task,
        mut command: Command,
        input: File,
    ) -> io::Result<Errand> {
        let words = file::in_memory("outlive-errand")?;
        command
            .process_group(0)
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(words.try_clone()?);
        let child = send(job, &mut command)?;
        Ok(Errand {
            pid: child.id() as i32,
            task,
            limit: TimeLimit::Unlimited,
            words,
        })
    }

    /// Ends it, and what it started.
    pub fn kill(&self) {
        let _ = own::kill_group(self.pid);
        if let Ok(Some(process)) = PidFd::open(self.pid) {
            let _ = process.signal(Signal::KILL.linux_number());
        }
    }

    /// Ends it at once, and returns when it has.
    pub fn call_off(&self) {
        self.kill();
        let _ = process::wait_for_child(self.pid);
    }

    /// The end of what it said.
    pub fn words(&self) -> String {
        let size = self.words.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; size.min(WORDS as u64) as usize];
        let from = size - bytes.len() as u64;
        let _ = self.words.read_exact_at(&mut bytes, from);
        let text = String::from_utf8_lossy(&bytes);
        // Where a character was cut.
        text.trim_start_matches('\u{fffd}').trim().to_owned()
    }
}

/// Ends what a predecessor's doorbells are still at: they are rung again. What such a one has sent into a
/// session of its own is not touched. They are children of this process, or anybody's if it is `orphaned`.
pub fn end_inherited(job: &JobDir, orphaned: bool) -> io::Result<()> {
    let mark = mark(job.path().as_os_str().as_bytes());
    if orphaned {
        return end_by_mark(&mark);
    }
    for pid in tree::children(own::pid())? {
        if is_sent(pid, &mark) {
            // It leads its group, or is no errand but something that one left behind.
            let _ = own::kill_group(pid);
        }
    }
    Ok(())
}

/// Ends each of them by itself: a group's number may be another's by the time it is used. What keeps the machine awake
/// bears the mark too. It is in the group of the keeper that started it, where errands have groups of their own.
fn end_by_mark(mark: &[u8]) -> io::Result<()> {
    let is_errand = |pid| {
        let own_group = process::stat(pid).is_some_and(|stat| stat.group != stat.session);
        own_group && is_sent(pid, mark)
    };
    for pid in tree::all()? {
        if !is_errand(pid) {
            continue;
        }
        if let Some(process) = PidFd::open(pid)?
            && is_errand(pid)
        {
            process.signal(Signal::KILL.linux_number())?;
        }
    }
    Ok(())
}

/// Whether a process bears this mark and has not left for a session of its own.
fn is_sent(pid: i32, mark: &[u8]) -> bool {
    let has = process::started_with(pid, MARK).ok().flatten();
    has.is_some_and(|has| has == mark) && process::stat(pid).is_some_and(|stat| stat.session != pid)
}

/// This program, to do something for the job in this directory as long as this process lives.
pub fn own_program(job: &JobDir, what: &str) -> Command {
    // Through /proc, so that a program that was replaced by its update still finds itself.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("outlive-keeper")
        .arg(job.path())
        .arg(what)
        .arg(own::pid().to_string());
    command
}
