//! The Linux implementation of every role.
//!
//! | module | owns |
//! |---|---|
//! | [`blocked`] | which descriptors a process waits to read from |
//! | [`cgroup`] | control groups, and the nice value of a process |
//! | [`child`] | fork, and the steps between fork and exec |
//! | [`clock`] | the boot clock, the wall clock, and a timer that counts time spent in suspend |
//! | [`consumed`] | what a process has used |
//! | [`file`] | reserving space, finding holes, renaming without replacing, files in memory |
//! | [`filter`] | a seccomp filter that makes system calls fail, for fault tests |
//! | [`host`] | the identity of this host, and whether a disk is shared with other hosts |
//! | [`kmsg`] | which processes the kernel killed because memory ran out |
//! | [`limits`] | the resource limits of a process |
//! | [`lock`] | file locks that a forked process shares |
//! | [`interrupts`] | noticing that a person interrupts or suspends this process |
//! | [`own`] | what a process changes about itself: session, signals, descriptors, limits |
//! | [`pidfd`] | a handle to one process that never refers to another |
//! | [`pipe`] | FIFOs and pipes, and moving bytes without copying them |
//! | [`poll`] | sleeping until a descriptor is ready |
//! | [`probe`] | tests of what this machine supports |
//! | [`procfs`] | what `/proc` reports about processes |
//! | [`pty`] | pseudo-terminals, and the terminal of this process |
//! | [`socket`] | local sockets whose peer is known |
//! | [`spawn`] | starting another program with default signals |
//! | [`trace`] | stopping a program at each of its system calls, for fault tests |

pub mod blocked;
pub mod cgroup;
pub mod child;
pub mod clock;
pub mod consumed;
pub mod file;
pub mod filter;
pub mod host;
pub mod interrupts;
pub mod kmsg;
pub mod limits;
pub mod lock;
pub mod own;
pub mod pidfd;
pub mod pipe;
pub mod poll;
pub mod probe;
pub mod procfs;
pub mod pty;
pub mod socket;
pub mod spawn;
pub mod trace;
