//! One process: a handle that never refers to another, its state, its limits, and what this process
//! changes about itself ([`own`]).

pub use crate::kernel::blocked::{ReadTarget, pending_reads, read_target};
pub use crate::kernel::cgroup::set_nice;
pub use crate::kernel::consumed::{Consumed, consumed};
pub use crate::kernel::interrupts;
pub use crate::kernel::kmsg::killed_for_memory;
pub use crate::kernel::limits::{self, Limits};
pub use crate::kernel::own;
pub use crate::kernel::pidfd::{
    Delivered, PidFd, Status, Used, any_ended_child, has_child_ended, kill_child, reap_child,
    signal_child, wait_for_child,
};
pub use crate::kernel::procfs::{
    Stat, arguments, directory, ignores, innermost_pid, is_executing, is_process, listeners, look,
    opened, sockets, started_with, stat, tells_exit_code,
};
