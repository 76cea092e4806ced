//! Reads the input of an agent's hook and writes the answer.
//!
//! ```text
//!   agent ─JSON on stdin─► call ─► inbox: claim ─► answer ─JSON, or text and exit 2─► agent
//!                                      └───────────── ack, after the answer is written
//! ```
//!
//! The verb is [`crate::verbs::hook`]. A hook must never stop an agent: every failure becomes a line in
//! `hook.log`, and the agent sees the same as without news.

mod answer;
mod call;
mod journal;
mod text;

pub use answer::{Answer, context};
pub(crate) use call::HookInput;
pub use call::{Call, Occasion};
pub use journal::note;
pub(crate) use text::session_key;
pub use text::{BUDGET, news};

/// Why a hook was not served. The agent sees the same as without news.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    #[error("no hook is called {0:?}")]
    UnknownOccasion(String),
    #[error(transparent)]
    UnknownAgent(#[from] crate::agent::BadAgent),
    #[error("the agent's JSON on standard input cannot be read: {0}")]
    BadJson(#[from] serde_json::Error),
    #[error("standard input is a terminal; a hook is called by an agent, with its JSON there")]
    NoInput,
    #[error("neither the agent's JSON nor the environment names a session")]
    NoSession,
    #[error("the session {text:?} cannot be one: {reason}")]
    BadSession {
        text: String,
        reason: outlive_core::label::BadLabel,
    },
    #[error("the answer could not be written: {0}")]
    NotWritten(#[source] std::io::Error),
    #[error(transparent)]
    Outlive(#[from] outlive::Error),
}
