//! Auggie: an MCP entry and hooks in one file, and instructions.

use crate::hook::Occasion;
use crate::profile::{HOOK_SECONDS, Profile, Site, UserDirectories, server_part};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use serde_json::{Value, json};
use std::path::PathBuf;

pub struct Auggie;

impl Profile for Auggie {
    fn name(&self) -> &'static str {
        "auggie"
    }

    fn program(&self) -> &'static str {
        "auggie"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.home.join(".augment")
    }

    fn project_directory(&self) -> &'static str {
        ".augment"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"type": "stdio", "command": site.program, "args": ["mcp"]});
        let mut parts = vec![server_part("mcpServers", server)];
        parts.extend(site.hook_parts(|occasion| {
            json!({"hooks": [{
                // In milliseconds.
                "type": "command", "command": site.hook_command(occasion), "timeout": 1000 * HOOK_SECONDS,
            }]})
        }));
        let settings = Piece::Json {
            dialect: Dialect::Comments,
            parts,
        };
        let instructions = match site.scope {
            // Auggie reads every file of this directory.
            Scope::User => site.own.join("rules/outlive.md"),
            Scope::Project(root) => root.join("AGENTS.md"),
        };
        vec![
            (site.own.join("settings.json"), settings),
            (instructions, site.instructions()),
        ]
    }

    /// Only its hooks find it in their environment.
    fn shells_know_session(&self) -> bool {
        false
    }

    /// Its event for a prompt (`PromptSubmit`) is left out: its package does not show whether the model is
    /// given what such a hook answers.
    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        &[
            ("SessionStart", Occasion::SessionStart),
            ("PostToolUse", Occasion::PostToolUse),
            ("Stop", Occasion::Stop),
        ]
    }

    /// It has no hook that runs in parallel.
    fn can_be_woken(&self) -> bool {
        false
    }

    fn stop_answer(&self, text: &str) -> Value {
        json!({"hookSpecificOutput": {
            "hookEventName": "Stop",
            "decision": "block",
            "reason": text,
        }})
    }
}
