//! Claude Code: an MCP entry, hooks, a hook that wakes the agent when it is idle, and instructions.

use crate::hook::Occasion;
use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use outlive::environment;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where Claude Code keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "CLAUDE_CONFIG_DIR";
/// How long the hook that wakes the agent waits while the agent is idle: a day.
const WAIT_SECONDS: u64 = 24 * 60 * 60;

pub struct ClaudeCode;

impl Profile for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        configured_directory().unwrap_or_else(|| user.home.join(".claude"))
    }

    fn project_directory(&self) -> &'static str {
        ".claude"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"type": "stdio", "command": site.program, "args": ["mcp"]});
        let hooks = Piece::Json {
            dialect: Dialect::Strict,
            parts: site.hook_parts(|occasion| hook(site, occasion)),
        };
        vec![
            (
                servers_file(site),
                site.server(Dialect::Strict, "mcpServers", server),
            ),
            (site.own.join("settings.json"), hooks),
            (site.beside("CLAUDE.md"), site.instructions()),
        ]
    }

    fn shells_know_session(&self) -> bool {
        true
    }
}

fn configured_directory() -> Option<PathBuf> {
    environment::non_empty(CONFIG_DIRECTORY).map(PathBuf::from)
}

/// Claude Code keeps its MCP servers in a file apart from its settings.
fn servers_file(site: &Site<'_>) -> PathBuf {
    match site.scope {
        Scope::Project(root) => root.join(".mcp.json"),
        Scope::User => match configured_directory() {
            Some(directory) => directory.join(".claude.json"),
            None => site.user.home.join(".claude.json"),
        },
    }
}

fn hook(site: &Site<'_>, occasion: Occasion) -> Value {
    let hook = site.plain_hook(occasion);
    match occasion {
        // At the end of a turn, a second hook waits beside the idle agent and wakes it when there is news.
        Occasion::Stop => json!({"hooks": [hook, {
            "type": "command", "command": site.hook_command(Occasion::Wait),
            "async": true, "asyncRewake": true, "timeout": WAIT_SECONDS,
        }]}),
        Occasion::PostToolUse => json!({"matcher": "*", "hooks": [hook]}),
        _ => json!({"hooks": [hook]}),
    }
}
