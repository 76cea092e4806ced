//! Every system call that Outlive makes and the standard library does not offer, as owned, safe types.
//!
//! This is the only crate that knows the platform and the only one with `unsafe`. It does not know what
//! its callers use it for. File descriptors never leave it as numbers, and each one is close-on-exec.
//!
//! Callers use the roles. The mechanisms behind them are in one folder per kernel (`linux/`), which is
//! selected once, here.
//!
//! | role | owns |
//! |---|---|
//! | [`process`] | one process: a handle to it, its state, its limits; what this process changes about itself |
//! | [`tree`] | all processes, and the children of one |
//! | [`capture`] | FIFOs, pipes, and moving bytes without copying them |
//! | [`terminal`] | pseudo-terminals, and the terminal of this process |
//! | [`lock`] | file locks that a forked process shares |
//! | [`cgroup`] | control groups: where this process is, and where it may make one |
//! | [`mod@file`] | reserving space, finding holes, renaming without replacing, files in memory |
//! | [`control`] | local sockets whose peer is known |
//! | [`clock`] | the boot clock, the wall clock, and a timer that counts time spent in suspend |
//! | [`poll`] | sleeping until a descriptor is ready |
//! | [`spawn`], [`child`] | starting another program; fork, and the steps between fork and exec |
//! | [`offers`] | what this machine can do |
//! | [`hook`], [`filter`], [`trace`] | for tests: named points to stop at, and system calls that fail |

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as kernel;

pub mod capture;
pub mod control;
pub mod hook;
pub mod offers;
pub mod process;
pub mod terminal;
pub mod tree;

pub use kernel::{cgroup, child, clock, file, filter, lock, poll, spawn, trace};
