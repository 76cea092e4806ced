//! The system calls of a command.

use crate::environment::behind;
use crate::processes::{INT, kill};
use crate::waiting::until;
use crate::world::World;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The command under `strace` with these options. The trace is written to `trace`.
pub fn strace<S: AsRef<OsStr>>(command: &Command, trace: &Path, options: &[S]) -> Command {
    let own = ["-q", "-o"].map(OsStr::new);
    let words = own.into_iter().chain([trace.as_os_str()]);
    behind(
        "strace",
        words.chain(options.iter().map(AsRef::as_ref)),
        command,
    )
}

/// The system calls that these processes make within two seconds, and those that they are in.
pub fn watch_for_two_seconds(world: &World, pids: &[i32]) -> String {
    let trace = world.path("trace");
    let mut strace = attach(&trace, &[], pids);
    // Not a wait: nothing should happen in this time.
    thread::sleep(Duration::from_secs(2));
    kill(strace.id() as i32, INT);
    strace.wait().unwrap();
    fs::read_to_string(trace).unwrap()
}

/// Attaches `strace` with these options to running processes. The trace is written to `trace`. The caller ends it.
pub fn attach(trace: &Path, options: &[&str], pids: &[i32]) -> Child {
    let mut strace = Command::new("strace");
    strace.arg("-o").arg(trace).args(options);
    for pid in pids {
        strace.args(["-p", &pid.to_string()]);
    }
    let strace = strace.stderr(Stdio::null()).spawn().unwrap();
    until("they are traced", || pids.iter().all(|pid| is_traced(*pid)));
    strace
}

fn is_traced(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
}
