//! Plugs Outlive into coding agents.
//!
//! | module | owns |
//! |---|---|
//! | [`agent`] | the agents that are known |
//! | [`setup`] | what is written into an agent's configuration files, and how it is taken out again |
//! | [`hook`] | what an agent sends when it calls a hook, and the answer in the agent's format |
//! | [`verbs`] | `outlive setup` and `outlive hook` |
#![forbid(unsafe_code)]

pub mod agent;
mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod hook;
pub mod setup;
pub mod verbs;

pub use error::Error;
