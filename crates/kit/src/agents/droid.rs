//! Droid: an MCP entry, hooks in Claude Code's form, and instructions.

use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use crate::setup::switch::Switch;
use serde_json::json;
use std::path::PathBuf;

pub struct Droid;

impl Profile for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn program(&self) -> &'static str {
        "droid"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.home.join(".factory")
    }

    fn project_directory(&self) -> &'static str {
        ".factory"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"type": "stdio", "command": site.program, "args": ["mcp"]});
        let hooks = Piece::Json {
            dialect: Dialect::Comments,
            parts: site.hook_parts(|occasion| json!({"hooks": [site.plain_hook(occasion)]})),
        };
        vec![
            (
                site.own.join("mcp.json"),
                site.server(Dialect::Strict, "mcpServers", server),
            ),
            (site.own.join("settings.json"), hooks),
            (site.beside("AGENTS.md"), site.instructions()),
        ]
    }

    fn switches(&self, site: &Site<'_>) -> Vec<Switch> {
        vec![Switch {
            file: site.own.join("settings.json"),
            path: &["hooks", "hooksDisabled"],
            off: true,
            means: "Droid then calls no hook of Outlive, and learns of the end of a job only from the answers of \
                    Outlive's tools",
        }]
    }

    /// Only its hooks and its MCP calls name the session.
    fn shells_know_session(&self) -> bool {
        false
    }

    /// It has no hook that runs in parallel.
    fn can_be_woken(&self) -> bool {
        false
    }
}
