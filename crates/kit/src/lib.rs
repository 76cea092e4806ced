//! Connects Outlive to coding agents.
//!
//! | module | contains |
//! |---|---|
//! | [`agent`] | a known agent, as a value |
//! | `agents` | one file for each agent, and the list of them |
//! | `profile` | what such a file defines: paths, entries, hooks, answers |
//! | [`setup`] | adds entries to an agent's configuration files, and removes them |
//! | [`hook`] | reads the input of a hook, and answers in the agent's format |
//! | [`verbs`] | `outlive setup` and `outlive hook` |
//!
//! To add an agent, write `agents/NAME.rs` and add it to the list in `agents.rs`; nothing else changes.
//! Two exceptions: if the agent puts its session's id into an environment variable, `outlive::environment`
//! must know that variable, and if its hooks send the session's id under a new key, `HookInput` must.
#![forbid(unsafe_code)]

pub mod agent;
mod agents;
mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod hook;
mod profile;
pub mod setup;
pub mod verbs;

pub use error::Error;
