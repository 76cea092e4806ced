//! Processes: the signals they are sent, the states they are in, and their end.

use crate::world::{is_alive, kill, until};
use outlive_sys::process;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const INT: i32 = 2;
pub const KILL: i32 = 9;
pub const CONT: i32 = 18;
pub const STOP: i32 = 19;

/// Starts a command in the background, its output to be read.
pub fn begin(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills a process and waits until it is gone.
pub fn kill_for_good(pid: i32) {
    kill(pid, KILL);
    until("a killed process is gone", || !is_alive(pid));
}

/// The letter that proc(5) has for what a process does.
pub fn state_of(pid: i32) -> Option<u8> {
    process::stat(pid).map(|stat| stat.state)
}

/// Whether a process stands still, at a hook or by a signal.
pub fn is_stopped(pid: i32) -> bool {
    state_of(pid) == Some(b'T')
}

pub fn until_stopped(pid: i32) {
    until("the process stands still", || is_stopped(pid));
}

/// Where in the kernel a process sleeps.
pub fn sleeps_in(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default()
}

/// Whether a process sleeps, and no time is set at which it wakes. One that waits for a disk (`D`) does not.
pub fn sleeps_for_good(pid: i32) -> bool {
    let place = sleeps_in(pid);
    let call = fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    let limit = call.split(' ').nth(3);
    place.len() > 1
        && state_of(pid) == Some(b'S')
        && (!place.contains("poll") || limit == Some("0x0"))
}

/// Waits until a process sleeps in `poll`, which is where `outlive` waits for keepers.
pub fn until_blocked(pid: i32) {
    until("it is blocked", || sleeps_in(pid).contains("poll"));
}

/// The pid that was written to a file.
pub fn pid_in(path: &Path) -> i32 {
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

/// The signals that a process has blocked, as the kernel words it.
pub fn blocked_signals(pid: i32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let blocked = status.lines().find(|line| line.starts_with("SigBlk"));
    blocked.unwrap().to_owned()
}

/// What that is in a process that was started with none.
pub const NONE_BLOCKED: &str = "SigBlk:\t0000000000000000";
