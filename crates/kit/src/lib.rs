//! Plugs Outlive into coding agents.
//!
//! | module | owns |
//! |---|---|
//! | [`agent`] | an agent that is known, as a value |
//! | `agents` | one file for each agent, and the list of them |
//! | `profile` | what such a file says: paths, entries, hooks, answers |
//! | [`setup`] | what is written into an agent's configuration files, and how it is taken out again |
//! | [`hook`] | what an agent sends when it calls a hook, and the answer in the agent's format |
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
