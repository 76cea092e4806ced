//! The list of agents. One file describes one agent; see [`crate::profile::Profile`] for what it says.
//!
//! To add an agent, write its file and add it to the list here. The head of the crate names two exceptions.

mod claude_code;
mod codex;
mod cursor;
mod gemini;
mod opencode;

use crate::profile::Profile;

/// The order is written into files that agents share, so add a new agent at the end. The first agent's
/// format answers hooks whose caller is unknown.
pub const AGENTS: &[&dyn Profile] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::Opencode,
    &cursor::Cursor,
];
