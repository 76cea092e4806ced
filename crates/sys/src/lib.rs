//! Every system call Outlive makes that the standard library does not: as owned, safe types.
//!
//! This is the only crate that knows the platform and the only one with `unsafe`. It knows nothing
//! of what it is used for. Descriptors never leave it as numbers, and every one is close-on-exec.
//!
//! | module | owns |
//! |---|---|
//! | [`blocked`] | what a process waits to read from |
//! | [`child`] | fork, and the way from fork to exec |
//! | [`clock`] | both clocks, and a timer that runs through suspend |
//! | [`file`] | reserving space, finding holes, renaming without replacing |
//! | [`filter`] | having system calls refused, for breaking on purpose |
//! | [`hook`] | named places where a test can stop or kill a process |
//! | [`host`] | which host this is, and whether others share a disk with it |
//! | [`limits`] | what a process may use |
//! | [`lock`] | locks that a forked process shares |
//! | [`memory`] | files that are nowhere but in memory |
//! | [`own`] | what a process does to itself: session, signals, descriptors, limits |
//! | [`pidfd`] | one process, addressed so that it cannot be another |
//! | [`pipe`] | FIFOs, and moving bytes without a copy |
//! | [`poll`] | sleeping until the kernel has something |
//! | [`probe`] | what this machine offers |
//! | [`procfs`] | what the kernel tells of processes |
//! | [`pty`] | terminals, from both ends |
//! | [`socket`] | local sockets with a known peer |
//! | [`spawn`] | starting another program, the one way it is done |
//! | [`trace`] | other processes' system calls, for breaking on purpose |

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as kernel;

pub mod hook;
pub mod trace;

pub use kernel::{
    blocked, child, clock, file, filter, host, limits, lock, memory, own, pidfd, pipe, poll, probe,
    procfs, pty, socket, spawn,
};
