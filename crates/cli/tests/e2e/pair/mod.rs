//! The pair: killing the keeper or its standby at any instant loses nothing.

mod heirs;
mod hooks;
mod kinds;
mod signals;
mod streams;

// Modules that look for these here find them.
pub use crate::checks::*;
pub use crate::processes::*;
pub use crate::scripts::*;
pub use streams::{assert_whole_stream, places_in_the_stream, start_stream, stream_to};
