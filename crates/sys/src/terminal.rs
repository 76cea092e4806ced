//! Terminals: one made for a job, and the one this process was started on.

pub use crate::kernel::pty::*;
