//! Every verb of Outlive, for programs: start commands that outlive whoever started them, and ask
//! about them later, from anywhere.
//!
//! ```no_run
//! use outlive::{Outlive, verbs::run};
//! let outlive = Outlive::open(None)?;
//! let started = run::run(&outlive, run::Run::shell("make -j8 && make test"))?;
//! let ended = outlive::verbs::wait::wait(&outlive, &[started.job.id.clone()], Default::default())?;
//! # Ok::<(), outlive::Error>(())
//! ```
//! One verb is one file in [`verbs`]. Nothing here prints, and nothing is kept in memory: every call
//! reads the job directory, so any process may make it.
#![forbid(unsafe_code)]

pub mod clock;
pub mod config;
pub mod doorbell;
pub mod environment;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod home;
mod hooks;
pub mod inbox;
mod jobs;
mod launch;
mod moment;
mod output;
mod random;
pub mod redact;
mod screen;
pub mod verbs;
pub mod view;
pub mod words;

pub use config::Config;
pub use error::Error;
pub use home::outlive::{Caller, Outlive};
pub use inbox::answering::Reservation;
pub use jobs::hold::Hold;
pub use jobs::naming::Namesake;
pub use outlive_api as api;
pub use outlive_api::job::{Job, JobState};
pub use outlive_api::log::Cursor;
pub use outlive_api::time::{Millis, Timestamp};
pub use outlive_core::control::{InputKind, WriteId};
pub use outlive_core::defaults;
pub use outlive_core::ready::Ready;
pub use outlive_core::watch::{Pattern, Watch};
pub use outlive_core::{
    Input, JobId, Label, Leftovers, Notify, Outcome, Size, bound, signal::Signal, units,
};
pub use outlive_sys::capture::bytes_ready;
pub use outlive_sys::process::limits::{fail_at_file_size, has_small_stack};
pub use outlive_sys::process::own::{SignalMask, block_all_signals};
pub use output::{
    Chunk, Follow, Grown, Growth, Line, LinePattern, Look, Piece, Reading, missing_line,
};
pub use screen::{keys, terminal};
pub use words::{agree, count, visible};
