//! Cursor: an MCP entry, hooks in a form of its own, and instructions in projects only.

use crate::hook::{HookInput, Occasion};
use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::{Part, Piece};
use serde_json::{Value, json};
use std::path::PathBuf;

/// How often in a row Cursor continues because a hook asked for it.
const MAX_CONTINUATIONS: u64 = 10;

pub struct Cursor;

impl Profile for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn program(&self) -> &'static str {
        "cursor"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.home.join(".cursor")
    }

    fn project_directory(&self) -> &'static str {
        ".cursor"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"command": site.program, "args": ["mcp"]});
        let mut parts = vec![Part::needed("version", json!(1))];
        parts.extend(site.hook_parts(|occasion| hook(site, occasion)));
        let hooks = Piece::Json {
            dialect: Dialect::Strict,
            parts,
        };
        let mut files = vec![
            (
                site.own.join("mcp.json"),
                site.server(Dialect::Strict, "mcpServers", server),
            ),
            (site.own.join("hooks.json"), hooks),
        ];
        if *site.scope != Scope::User {
            files.push((site.beside("AGENTS.md"), site.instructions()));
        }
        files
    }

    fn note(&self, scope: &Scope) -> Option<&'static str> {
        (*scope == Scope::User).then_some(
            "Cursor keeps a user's instructions in its settings: paste SKILL.md there (Rules), or set up a project",
        )
    }

    fn shells_know_session(&self) -> bool {
        false
    }

    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        &[
            ("sessionStart", Occasion::SessionStart),
            ("postToolUse", Occasion::PostToolUse),
            ("stop", Occasion::Stop),
        ]
    }

    fn wrote(&self, input: &HookInput) -> bool {
        input.cursor_version.is_some()
    }

    /// Cursor can run the hooks of Claude Code. It would block on the hook that waits.
    fn can_be_woken(&self) -> bool {
        false
    }

    fn stop_answer(&self, text: &str) -> Value {
        json!({"followup_message": text})
    }

    fn context_answer(&self, _occasion: Occasion, text: &str) -> Value {
        json!({"additional_context": text})
    }
}

fn hook(site: &Site<'_>, occasion: Occasion) -> Value {
    let command = site.hook_command(occasion);
    match occasion {
        Occasion::Stop => json!({"command": command, "loop_limit": MAX_CONTINUATIONS}),
        _ => json!({"command": command}),
    }
}
