//! The list of agents. One file describes one agent; see [`crate::profile::Profile`] for what it says.
//!
//! To add an agent, write its file and add it to the list here. The head of the crate names two exceptions.

mod amp;
mod auggie;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod droid;
mod gemini;
mod kilo;
mod opencode;
mod qwen;

use crate::profile::Profile;

/// The order is written into files that agents share, so add a new agent at the end. The first agent's
/// format answers hooks whose caller is unknown.
pub const AGENTS: &[&dyn Profile] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini::Gemini,
    &opencode::Opencode,
    &cursor::Cursor,
    &qwen::Qwen,
    &copilot::Copilot,
    &droid::Droid,
    &kilo::Kilo,
    &auggie::Auggie,
    &amp::Amp,
    &crush::Crush,
    &cline::Cline,
];
