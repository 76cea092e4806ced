//! The contract of Outlive: every type that crosses a boundary, as a serde type.
//!
//! A face (the command line, MCP, a program that uses the library) sends a request and gets a reply or a
//! [`Failure`](failure::Failure). All of them are here, and nothing else is: no file, no process, no text
//! that only one face prints.
//!
//! | module | contains |
//! |---|---|
//! | [`id`], [`label`], [`event_id`], [`incarnation`] | names of jobs, sessions and events |
//! | [`labels`] | pairs by which a caller finds its jobs again |
//! | [`time`] | times and durations |
//! | [`job`] | a job as every face shows it |
//! | [`outcome`] | how a job ended, and why |
//! | [`adopted`] | a process that became a job |
//! | [`limits`] | what a job may use at most |
//! | [`event`], [`event_data`] | what a session is told |
//! | [`usage`] | what a job uses at one moment |
//! | [`log`], [`streams`] | output, its two streams, and a terminal's screen |
//! | [`request`] | what the verbs take, one request per verb |
//! | [`reply`], [`setup`], [`place`] | what the other verbs answer |
//! | [`failure`] | why a request failed: codes, messages, data |
//! | [`rpc`] | the messages of `outlive rpc`, which carry requests and replies |
//! | [`input`], [`key`], [`terminal`], [`signal`] | what is written to a job, its screen, signals |
//! | [`watch`], [`ready`], [`notify`] | what is told of a running job |
//! | [`restart`], [`attempt`] | when a command is run again, and each of its runs |
//! | [`defaults`] | what holds where nothing is asked |
//! | [`os_text`] | arguments and paths, which need not be UTF-8 |
//!
//! Some of these types are also written to job directories. Their serde form must stay readable for ever.
//!
//! The feature `schema` derives JSON Schemas of all types.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod adopted;
pub mod attempt;
#[cfg(feature = "schema")]
pub mod brief;
pub mod defaults;
pub mod event;
pub mod event_data;
pub mod event_id;
pub mod failure;
pub mod id;
pub mod incarnation;
pub mod input;
pub mod job;
pub mod key;
pub mod label;
pub mod labels;
pub mod limits;
pub mod log;
pub mod notify;
pub mod os_text;
pub mod outcome;
pub mod place;
pub mod ready;
pub mod reply;
pub mod request;
pub mod restart;
pub mod rpc;
#[cfg(feature = "schema")]
pub mod schemas;
pub mod setup;
pub mod signal;
pub mod streams;
mod strict;
pub mod terminal;
pub mod time;
pub mod usage;
pub mod waiting;
pub mod watch;
