//! One verb, one file.

pub mod hook;
pub mod setup;
