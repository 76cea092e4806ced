//! Capturing output: FIFOs, pipes, and moving bytes without copying them.

pub use crate::kernel::pipe::*;
