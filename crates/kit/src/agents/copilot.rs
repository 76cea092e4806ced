//! Copilot CLI: an MCP entry, a file of hooks of our own, and instructions.

use crate::hook::Occasion;
use crate::profile::{HOOK_SECONDS, Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::{Part, Piece};
use outlive::environment;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where Copilot CLI keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "COPILOT_HOME";

pub struct Copilot;

impl Profile for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn program(&self) -> &'static str {
        "copilot"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        environment::non_empty(CONFIG_DIRECTORY)
            .map_or_else(|| user.home.join(".copilot"), PathBuf::from)
    }

    fn project_directory(&self) -> &'static str {
        ".github"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let (servers, instructions) = match site.scope {
            Scope::User => (
                site.own.join("mcp-config.json"),
                site.own.join("copilot-instructions.md"),
            ),
            Scope::Project(root) => (root.join(".mcp.json"), root.join("AGENTS.md")),
        };
        let server = match site.scope {
            Scope::User => {
                json!({"type": "local", "command": site.program, "args": ["mcp"], "tools": ["*"]})
            }
            // Claude Code reads this file too, and knows no other fields.
            Scope::Project(_) => json!({"type": "stdio", "command": site.program, "args": ["mcp"]}),
        };
        let mut parts = vec![Part::needed("version", json!(1))];
        parts.extend(site.hook_parts(|occasion| {
            json!({
                "type": "command",
                "command": site.hook_command(occasion),
                "timeoutSec": HOOK_SECONDS,
            })
        }));
        let hooks = Piece::Json {
            dialect: Dialect::Strict,
            parts,
        };
        vec![
            (servers, site.server(Dialect::Strict, "mcpServers", server)),
            (site.own.join("hooks/outlive.json"), hooks),
            (instructions, site.instructions()),
        ]
    }

    fn shells_know_session(&self) -> bool {
        true
    }

    /// It has no hook that runs in parallel.
    fn can_be_woken(&self) -> bool {
        false
    }

    /// When a conversation is resumed, Copilot CLI runs the hook and drops what it says. The hook of the next
    /// prompt tells instead.
    fn reads_answer(&self, occasion: Occasion) -> bool {
        occasion != Occasion::SessionStart
    }

    /// Under Claude Code's names for the events, Copilot CLI sends Claude Code's JSON. But it reads its own
    /// JSON back.
    fn context_answer(&self, _occasion: Occasion, text: &str) -> Value {
        json!({"additionalContext": text})
    }
}
