//! One process: a handle that never refers to another, its state, its limits, and what this process
//! changes about itself ([`own`]).

pub use crate::kernel::blocked::{Target, reads, target};
pub use crate::kernel::limits::{self, Limits};
pub use crate::kernel::own;
pub use crate::kernel::pidfd::*;
pub use crate::kernel::procfs::{
    Stat, arguments, ignores, innermost_pid, is_executing, is_process, listeners, look, sockets,
    started_with, stat, tells_exit_code,
};
