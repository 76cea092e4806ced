//! Capturing output: FIFOs, pipes, moving bytes without copying them, and files in memory.

pub use crate::kernel::memory;
pub use crate::kernel::pipe::*;
