//! The model of a job, and the job directory that holds it.
//!
//! Everything here is either pure (what a job is, how its state follows from its journal) or reads
//! and writes files inside one job directory. Nothing here starts a process, prints, reads the
//! environment or knows the platform.
//!
//! | module | owns |
//! |---|---|
//! | [`spec`] | what was asked; written once |
//! | [`event`] | what happened; one line of the journal each |
//! | [`state`] | what follows from the events: one pure function |
//! | [`outcome`] | how a job ended, and why |
//! | [`ending`] | writing an end down, in the order that loses nothing |
//! | [`doorbell`] | what is run when it has ended, and when that is tried again |
//! | [`bound`] | how much of an output is kept |
//! | [`output`] | which files its bytes lie in |
//! | [`index`] | where lines and moments are in an output |
//! | [`notice`] | which events a session is to hear of |
//! | [`links`] | the links by which a job is found: live, its session's, its inbox's |
//! | [`told`] | who has been told what: claims, acks |
//! | [`post`] | work done elsewhere that is told through the same inbox |
//! | [`words`] | what is said of an end |
//! | [`journal`] | reading and appending events |
//! | [`layout`] | where everything lies below the home |
//! | [`named`] | holding an id, so that it is not used again meanwhile |
//! | [`history`] | which jobs ended, in order |
//! | [`control`] | what a client and a keeper say to each other |
//! | [`host`] | which host a job runs on, seen from another |
//! | [`process`] | a process that cannot be mistaken for another |
//! | [`watch`] | watching an output for patterns: what is asked, and what is found |
//! | [`by_line`] | a pattern rewritten so that many lines are searched at once |
//! | [`breaker`] | sparing a session that many watches would flood |
//! | [`limits`] | what a keeper must be allowed to use |
//! | [`units`] | durations and sizes as people write them |
#![forbid(unsafe_code)]

pub mod bound;
pub mod breaker;
pub mod by_line;
pub mod control;
pub mod doorbell;
pub mod ending;
pub mod event;
pub mod history;
pub mod host;
pub mod index;
pub mod journal;
pub mod layout;
pub mod limits;
pub mod links;
pub mod named;
pub mod notice;
pub mod outcome;
pub mod output;
pub mod post;
pub mod process;
pub mod spec;
pub mod state;
pub mod told;
pub mod units;
pub mod watch;
pub mod words;

pub use outlive_api::{event_id, id, incarnation, label, os_text, ready, signal, time};

pub use control::{Reply, Request};
pub use doorbell::Doorbell;
pub use event::{Event, Record};
pub use event_id::EventId;
pub use id::JobId;
pub use incarnation::Incarnation;
pub use journal::{Journal, JournalWriter};
pub use label::Label;
pub use layout::{Home, JobDir};
pub use outcome::{End, EndedBy, Outcome, Usage};
pub use outlive_api::time::{Millis, Timestamp};
pub use output::OutputFiles;
pub use process::{BootId, ProcRef};
pub use spec::{Input, Leftovers, Notify, Size, Spec};
pub use state::{Phase, State};
pub use watch::Watch;
