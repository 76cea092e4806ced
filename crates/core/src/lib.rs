//! The model of a job, and the job directory that holds it.
//!
//! Everything here is either pure (what a job is, how its state follows from its journal) or reads
//! and writes files inside one job directory. Nothing here starts a process, prints, reads the
//! environment or knows the platform.
//!
//! | module | owns |
//! |---|---|
//! | [`id`] | job ids: making them, checking those from outside |
//! | [`label`] | names, sessions and tasks, and the file names they become |
//! | [`spec`] | what was asked; written once |
//! | [`event`] | what happened; one line of the journal each |
//! | [`state`] | what follows from the events: one pure function |
//! | [`outcome`] | how a job ended, and why |
//! | [`ending`] | writing an end down, in the order that loses nothing |
//! | [`bound`] | how much of an output is kept |
//! | [`output`] | which files its bytes lie in |
//! | [`index`] | where lines and moments are in an output |
//! | [`journal`] | reading and appending events |
//! | [`layout`] | where everything lies below the home |
//! | [`history`] | which jobs ended, in order |
//! | [`control`] | what a client and a keeper say to each other |
//! | [`process`] | a process that cannot be mistaken for another |
//! | [`signal`] | signal names and numbers |
//! | [`units`] | durations and sizes as people write them |
#![forbid(unsafe_code)]

pub mod bound;
pub mod control;
pub mod ending;
pub mod event;
pub mod history;
pub mod id;
pub mod index;
pub mod journal;
pub mod label;
pub mod layout;
pub mod os_text;
pub mod outcome;
pub mod output;
pub mod process;
pub mod signal;
pub mod spec;
pub mod state;
pub mod units;

pub use control::{Reply, Request};
pub use event::{Event, Record};
pub use id::JobId;
pub use journal::{Journal, JournalWriter};
pub use label::Label;
pub use layout::{Home, JobDir};
pub use outcome::{End, EndedBy, Outcome, Usage};
pub use output::OutputFiles;
pub use process::{BootId, ProcRef};
pub use spec::{Input, Leftovers, Notify, Size, Spec};
pub use state::{Phase, State};
