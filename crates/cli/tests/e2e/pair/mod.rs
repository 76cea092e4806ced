//! A keeper and its standby: killing one of them at any moment loses nothing.

mod heirs;
mod hooks;
mod kinds;
mod names;
mod partners;
mod signals;
mod streams;
mod turnover;

pub use streams::{assert_whole_stream, places_in_the_stream, start_stream, stream_to};
