//! The control channel: local sockets whose peer is known.

pub use crate::kernel::socket::*;
