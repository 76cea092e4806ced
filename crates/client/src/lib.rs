//! Start commands that outlive whoever started them, and ask about them later, from any process.
//!
//! ```no_run
//! use outlive::{Outlive, Run};
//!
//! let outlive = Outlive::open()?;
//! let job = outlive.run(Run::shell("make -j8 && make test").name("build"))?;
//! // This program may be killed here. Another one goes on with `outlive.job("build")?`.
//! let ended = job.wait()?;
//! println!("exit code {:?}\n{}", ended.exit_code, job.tail(20)?);
//! # Ok::<(), outlive::Error>(())
//! ```
//!
//! # What must be installed
//!
//! Each job is kept by a small program, `outlive-keeper`, which must be installed beside this library's
//! user. `cargo xtask install` (or a release archive) installs it together with `outlive`. It is looked for in
//! this order:
//!
//! 1. the path in the environment variable `OUTLIVE_KEEPER`,
//! 2. the directory of the running program,
//! 3. `PATH`.
//!
//! Without it, a job that is started ends at once: its outcome is `not_started`, and the reason names the missing
//! program. There is no daemon and nothing else to set up.
//!
//! # The pieces
//!
//! | to | use |
//! |---|---|
//! | start a job | [`Outlive::run`] with a [`Run`] |
//! | make a job of a process that already runs | [`Outlive::adopt`] with an [`Adopt`] |
//! | find it again | [`Outlive::job`], [`Outlive::list`] |
//! | wait, stop, send, read its output, change its watch or labels | the methods of [`JobHandle`] |
//! | be told of ends and other events | [`Outlive::inbox`], then [`inbox::Inbox::next`] |
//! | say who calls | [`Outlive::called_by`], [`Run::session`] |
//! | look without being told | [`Outlive::only_looking`] |
//!
//! Answers contain no credentials: what looks like one is replaced. Where the owner of the jobs reads the
//! answers, call [`Outlive::showing_secrets`]. Configured doorbells, limits and watches hold for jobs that are
//! started here as they do for the command line ([`Config`]).
//!
//! Every verb is also a function in [`verbs`], with all its options. The types of the options are in
//! the module `request` of [`api`]; they can be written as JSON and read back. Nothing here prints, and nothing is kept in
//! memory: every call reads the job directory, so any process may make it. Calls block; one that waits does
//! not poll.
//!
//! Runnable examples are in `examples/`: `run_and_wait`, `inbox_loop`, `session_and_redaction`.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[doc(hidden)]
pub mod agent;
#[doc(hidden)]
pub mod clock;
pub mod config;
#[doc(hidden)]
pub mod doorbell;
#[doc(hidden)]
pub mod environment;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod home;
mod hooks;
pub mod inbox;
mod jobs;
mod launch;
#[doc(hidden)]
pub mod listening;
mod moment;
mod output;
#[doc(hidden)]
pub mod places;
mod random;
pub mod redact;
mod screen;
pub mod verbs;
pub mod view;
#[doc(hidden)]
pub mod words;

pub use config::Config;
pub use error::{Error, NotAdoptable, PlaceError};
pub use home::handle::JobHandle;
pub use home::outlive::{Caller, Outlive};
pub use inbox::answering::Reservation;
pub use jobs::hold::Hold;
pub use outlive_api as api;
pub use outlive_api::job::{Job, JobState};
pub use outlive_api::key as keys;
pub use outlive_api::labels::{self, LabelFilter, Labels};
pub use outlive_api::log::Cursor;
pub use outlive_api::request::{ChangeLabels, ChangeWatch, Namesake, Selector};
pub use outlive_api::streams::{Stream, Streams};
pub use outlive_api::time::{Millis, Timestamp};
pub use outlive_core::control::{InputKind, WriteId};
pub use outlive_core::defaults;
pub use outlive_core::place::LOCAL;
pub use outlive_core::ready::Ready;
pub use outlive_core::restart::Restart;
pub use outlive_core::watch::{Pattern, Watch};
pub use outlive_core::{
    Input, JobId, Label, Leftovers, Notify, Outcome, Size, signal::Signal, units,
};
pub use output::{Chunk, Follow, Grown, Growth, Line, LinePattern, Look, Piece, Reading};
pub use verbs::adopt::Adopt;
pub use verbs::run::{Command, Run};
pub use verbs::wait::WaitFor;

// What the programs of this workspace share with the library, and no other caller needs.
#[doc(hidden)]
pub use home::serving;
#[doc(hidden)]
pub use outlive_core::adopted::output_sentence;
#[doc(hidden)]
pub use outlive_core::bound;
#[doc(hidden)]
pub use outlive_core::quote::{self, visible};
#[doc(hidden)]
pub use outlive_sys::capture::bytes_ready;
#[doc(hidden)]
pub use outlive_sys::process::limits::{fail_at_file_size, has_small_stack};
#[doc(hidden)]
pub use outlive_sys::process::own::{SignalMask, block_all_signals, open_file_limit};
#[doc(hidden)]
pub use outlive_sys::spawn::start as start_program;
#[doc(hidden)]
pub use output::missing_line;
#[doc(hidden)]
pub use screen::interrupts;
#[doc(hidden)]
pub use screen::live;
#[doc(hidden)]
pub use screen::terminal;
#[doc(hidden)]
pub use words::{agree, count};
