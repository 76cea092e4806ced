//! Qwen Code: an MCP entry and hooks in one file, and instructions.

use crate::hook::Occasion;
use crate::profile::{HOOK_SECONDS, Profile, Site, UserDirectories, server_part};
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use outlive::environment;
use serde_json::json;
use std::path::PathBuf;

/// Where Qwen Code keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "QWEN_HOME";

pub struct Qwen;

impl Profile for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn program(&self) -> &'static str {
        "qwen"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        environment::non_empty(CONFIG_DIRECTORY)
            .map_or_else(|| user.home.join(".qwen"), PathBuf::from)
    }

    fn project_directory(&self) -> &'static str {
        ".qwen"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"command": site.program, "args": ["mcp"]});
        let mut parts = vec![server_part("mcpServers", server)];
        parts.extend(site.hook_parts(|occasion| {
            json!({"hooks": [{
                "name": "outlive", "type": "command",
                // Old releases read milliseconds. New ones read seconds, but milliseconds from 1000 on.
                "command": site.hook_command(occasion), "timeout": 1000 * HOOK_SECONDS,
            }]})
        }));
        let settings = Piece::Json {
            dialect: Dialect::Comments,
            parts,
        };
        vec![
            (site.own.join("settings.json"), settings),
            (site.beside("QWEN.md"), site.instructions()),
        ]
    }

    /// Releases before 0.21 do not set the variable, neither in shells nor in hooks.
    fn shells_know_session(&self) -> bool {
        environment::non_empty(environment::QWEN_SESSION).is_some()
    }

    /// When a conversation is resumed, Qwen Code runs the hook and drops what it says. The hook of the next
    /// prompt tells instead.
    fn reads_answer(&self, occasion: Occasion) -> bool {
        occasion != Occasion::SessionStart
    }

    /// Hooks that run in parallel exist, but Qwen Code ignores what they print.
    fn can_be_woken(&self) -> bool {
        false
    }
}
