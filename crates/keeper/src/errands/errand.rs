//! Processes that a keeper runs for itself: to wait for the job's turn, to find out whether the job is ready, to ring a
//! doorbell.
//!
//! They are not part of the job, and their mark says so: stopping the job leaves them alone. Those that run this program
//! end with the keeper that started them, and its successor starts its own.

use crate::MARK;
use crate::turns::Turn;
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

/// The mark of the job that a process with this mark works for or belongs to.
pub fn sender(mark: &[u8]) -> &[u8] {
    mark.strip_suffix(SUFFIX).unwrap_or(mark)
}

/// What a process is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Wait for the job's turn, or for one of the things that it needs.
    Wait(Turn),
    /// Find out when the job is ready.
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
    /// Its standard error, which says why it failed.
    words: File,
}

/// How long such a process may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLimit {
    Unlimited,
    Until(BootTime),
    /// It was killed because it exceeded the limit.
    Exceeded,
}

/// At most this many bytes of a failed process's standard error are reported.
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

    /// Kills the process and its process group.
    pub fn kill(&self) {
        let _ = own::kill_group(self.pid);
        if let Ok(Some(process)) = PidFd::open(self.pid) {
            let _ = process.signal(Signal::KILL.linux_number());
        }
    }

    /// Kills it, and returns when it has ended.
    pub fn call_off(&self) {
        self.kill();
        let _ = process::wait_for_child(self.pid);
    }

    /// The end of its standard error.
    pub fn words(&self) -> String {
        let size = self.words.metadata().map_or(0, |metadata| metadata.len());
        let mut bytes = vec![0; size.min(WORDS as u64) as usize];
        let from = size - bytes.len() as u64;
        let _ = self.words.read_exact_at(&mut bytes, from);
        let text = String::from_utf8_lossy(&bytes);
        // The cut may have split a character.
        text.trim_start_matches('\u{fffd}').trim().to_owned()
    }
}

/// Kills the doorbell processes that a predecessor started: this keeper rings those doorbells again. Processes that
/// have moved to a session of their own are left alone. The doorbell processes are children of this process, or of any
/// process if `orphaned`.
pub fn end_inherited(job: &JobDir, orphaned: bool) -> io::Result<()> {
    let mark = mark(job.path().as_os_str().as_bytes());
    if orphaned {
        return end_by_mark(&mark);
    }
    for pid in tree::children(own::pid())? {
        if is_sent(pid, &mark) {
            // The process leads its group. If not, it is a leftover of an errand, and this call fails.
            let _ = own::kill_group(pid);
        }
    }
    Ok(())
}

/// Kills each process by itself, because a group number may be reused before the signal is sent. The helper that keeps
/// the machine awake has the same mark. It is recognised by its group: it shares the group of the keeper that started
/// it, while each errand has a group of its own.
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

/// Whether a process has this mark and has not moved to a session of its own.
fn is_sent(pid: i32, mark: &[u8]) -> bool {
    let has = process::started_with(pid, MARK).ok().flatten();
    has.is_some_and(|has| has == mark) && process::stat(pid).is_some_and(|stat| stat.session != pid)
}

/// A command that runs this program for the job in this directory, for as long as this process lives.
pub fn own_program(job: &JobDir, what: &str) -> Command {
    // Through /proc, so that it works even if an update has replaced the program's file.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("outlive-keeper")
        .arg(job.path())
        .arg(what)
        .arg(own::pid().to_string());
    command
}
