//! Processes on this machine: the signals they are sent, the states they are in, and their end.

use crate::waiting::until;
use outlive_sys::process::{self, PidFd};
use outlive_sys::tree;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const INT: i32 = 2;
pub const KILL: i32 = 9;
pub const CONT: i32 = 18;
pub const STOP: i32 = 19;

/// What [`blocked_signals`] returns for a process that was started with no signal blocked.
pub const NONE_BLOCKED: &str = "SigBlk:\t0000000000000000";

/// One process, identified by its pid and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    /// In clock ticks since boot.
    pub started: u64,
}

impl Process {
    /// The process with this pid, unless it has ended.
    pub fn find(pid: i32) -> Option<Process> {
        let stat = process::stat(pid).filter(|stat| !stat.is_zombie())?;
        let started = stat.started;
        Some(Process { pid, started })
    }

    pub fn is_alive(self) -> bool {
        Process::find(self.pid) == Some(self)
    }

    /// Sends a signal, if this process still runs; never to a later process with the same pid.
    pub fn signal(self, signal: i32) {
        if let Ok(Some(process)) = PidFd::open(self.pid)
            && self.is_alive()
        {
            // It may have ended at this moment.
            let _ = process.signal(signal);
        }
    }
}

/// Every running process that was started with `OUTLIVE_JOB_DIR` set to a path below this directory: the
/// keepers, leaders and descendants of the jobs there.
pub fn of_jobs_in(jobs: &Path) -> Vec<i32> {
    let is_marked = |pid: i32| {
        let mark = process::started_with(pid, "OUTLIVE_JOB_DIR").ok().flatten();
        mark.is_some_and(|mark| Path::new(OsStr::from_bytes(&mark)).starts_with(jobs))
    };
    let mut pids = tree::all().unwrap_or_default();
    pids.retain(|pid| is_alive(*pid) && is_marked(*pid));
    pids
}

/// Starts a command in the background, with pipes for its output.
pub fn begin(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Sends a signal to a process, if it is still there.
pub fn kill(pid: i32, signal: i32) {
    if let Ok(Some(process)) = PidFd::open(pid) {
        // It may have ended at this moment.
        let _ = process.signal(signal);
    }
}

/// Kills a process and waits until it is gone.
pub fn kill_for_good(pid: i32) {
    kill(pid, KILL);
    until("a killed process is gone", || !is_alive(pid));
}

pub fn is_alive(pid: i32) -> bool {
    Process::find(pid).is_some()
}

/// The state of a process, as a letter of proc(5).
pub fn state_of(pid: i32) -> Option<u8> {
    process::stat(pid).map(|stat| stat.state)
}

/// Whether a process is suspended, at a hook or by a signal.
pub fn is_stopped(pid: i32) -> bool {
    state_of(pid) == Some(b'T')
}

pub fn until_stopped(pid: i32) {
    until("the process is suspended", || is_stopped(pid));
}

/// The kernel function in which a process sleeps.
pub fn sleeps_in(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default()
}

/// Whether a process sleeps without a timeout. A process that waits for a disk (state `D`) does not count.
pub fn sleeps_for_good(pid: i32) -> bool {
    let place = sleeps_in(pid);
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let limit = call.split(' ').nth(3);
    place.len() > 1
        && state_of(pid) == Some(b'S')
        && (!place.contains("poll") || limit == Some("0x0"))
}

/// Waits until a process sleeps in `poll`, where `outlive` waits for keepers.
pub fn until_blocked(pid: i32) {
    until("it is blocked", || sleeps_in(pid).contains("poll"));
}

/// The pid in a file.
pub fn pid_in(path: &Path) -> i32 {
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

/// The blocked signals of a process, as a line of proc(5).
pub fn blocked_signals(pid: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let blocked = status.lines().find(|line| line.starts_with("SigBlk"));
    blocked.unwrap().to_owned()
}
