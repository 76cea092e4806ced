//! What people read, as files: the help, the text that each verb prints, and the common errors.
//!
//! Each test types commands as a person would, and compares the result with a file beside this one. The files are also
//! the place to read all these texts together. To accept a change, run the tests with `UPDATE_SNAPSHOTS=1` and check
//! the difference that git shows.
//!
//! Text that differs from run to run (IDs, times, process numbers, paths) is replaced by fixed words: see `session`.
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
