//! The process tree: all processes, and the children of one.

pub use crate::kernel::own::become_subreaper;
pub use crate::kernel::procfs::{all, children};
