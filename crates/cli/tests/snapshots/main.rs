//! What people read of Outlive, as files: the help, the text that each verb prints, and the common errors.
//!
//! Each test types commands as a person would, and compares what they print with a file beside this one. The files
//! are also the place to read the prose in one go. To accept a change, run the tests with `UPDATE_SNAPSHOTS=1` and
//! look at the difference that git shows.
//!
//! What differs from run to run (ids, times, process numbers, paths) is replaced by fixed words: see `session`.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]

mod errors;
mod help;
mod notes;
mod session;
mod snapshot;
mod verbs;
