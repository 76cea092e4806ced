//! The model of a job, and the job directory that holds it.
//!
//! Everything here is either pure (what a job is, how its state follows from its journal) or reads and
//! writes files in one job directory. Nothing here starts a process, prints, reads the environment or
//! calls the operating system directly.
//!
//! | module | owns |
//! |---|---|
//! | [`spec`] | the request that made a job; written once |
//! | [`event`] | the events of a job; each is one line of its journal |
//! | [`change`] | what was asked for after the start |
//! | [`state`] | the state that follows from the events: one pure function |
//! | [`adopted`] | a process that became a job while it ran |
//! | [`outcome`] | how a job ended, and why |
//! | [`ending`] | records the end of a job in an order that survives a crash |
//! | [`doorbell`] | commands that run when a job has ended, and when a failed one is retried |
//! | [`bound`] | how much of a job's output is kept |
//! | [`output`] | which files hold the bytes of an output |
//! | [`streams`] | which bytes of an output are standard error |
//! | [`index`] | finds lines and times in an output |
//! | [`next_step`] | how a text names the next step, for a shell or for a model with tools |
//! | [`notice`] | which events a session is told about |
//! | [`links`] | the links that find a job: live, by session, by inbox |
//! | [`told`] | which events were claimed, delivered and acked |
//! | [`post`] | outside work that reports through the same inbox |
//! | [`words`] | the sentences and JSON that describe an end |
//! | [`journal`] | reads and appends events |
//! | [`layout`] | all paths below the home |
//! | [`named`] | locks an id so that no other job can get it meanwhile |
//! | [`history`] | the list of ended jobs, in order |
//! | [`control`] | the messages between a client and a keeper |
//! | [`place`] | where a job runs, as a person names it |
//! | [`wire`] | frames: how a courier and a far end talk over one byte stream |
//! | [`far`] | what they say to each other |
//! | [`host`] | decides whether a job runs on this host or another one |
//! | [`process`] | a process reference that stays correct when a process ID is reused |
//! | [`quote`] | text of others, quoted so that it cannot pose as ours |
//! | [`watch`] | the patterns to watch an output for, and the matches |
//! | [`by_line`] | rewrites a pattern so that one search covers many lines |
//! | [`breaker`] | limits how many matches one session is told about |
//! | [`restart`] | whether another attempt follows, and when |
//! | [`confined`] | the control groups that enforce the limits of a job |
//! | [`limits`] | the resource limits that a keeper needs |
//! | [`units`] | durations and sizes as people write them |
#![forbid(unsafe_code)]

pub mod adopted;
pub mod after;
pub mod bound;
pub mod breaker;
pub mod by_line;
pub mod change;
pub mod clocks;
pub mod confined;
pub mod control;
pub mod doorbell;
pub mod ending;
pub mod event;
pub mod far;
pub mod history;
pub mod host;
pub mod index;
pub mod journal;
pub mod layout;
pub mod limits;
pub mod links;
pub mod named;
pub mod next_step;
pub mod notice;
pub mod outcome;
pub mod output;
pub mod place;
pub mod post;
pub mod process;
pub mod queue;
pub mod quote;
mod reader;
pub mod restart;
pub mod spec;
pub mod state;
pub mod streams;
pub mod told;
pub mod units;
pub mod watch;
pub mod wire;
pub mod words;

pub use outlive_api::{
    defaults, event_id, id, incarnation, label, labels, os_text, ready, signal, time,
};

pub use clocks::{BootTime, WallTime};
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
pub use restart::Restart;
pub use spec::{Input, Leftovers, Notify, Size, Spec, Stream, Streams};
pub use state::{Phase, State};
pub use watch::Watch;
