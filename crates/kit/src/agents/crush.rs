//! Crush: an MCP entry and instructions. The replies of the MCP server tell the news.
//!
//! Its only hook runs before a tool call. What that hook prints reaches the model with the result of the
//! call, but nothing shows afterwards that the model has read it: there is no hook at the end of a turn.

use crate::hook::Occasion;
use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use outlive::environment;
use serde_json::json;
use std::path::PathBuf;

/// Where Crush keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "CRUSH_GLOBAL_CONFIG";

pub struct Crush;

impl Profile for Crush {
    fn name(&self) -> &'static str {
        "crush"
    }

    fn program(&self) -> &'static str {
        "crush"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        environment::non_empty(CONFIG_DIRECTORY)
            .map_or_else(|| user.config.join("crush"), PathBuf::from)
    }

    fn project_directory(&self) -> &'static str {
        ".crush"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"type": "stdio", "command": site.program, "args": ["mcp"]});
        let instructions = match site.scope {
            Scope::User => "CRUSH.md",
            Scope::Project(_) => "AGENTS.md",
        };
        vec![
            (
                site.beside("crush.json"),
                site.server(Dialect::Strict, "mcp", server),
            ),
            (site.beside(instructions), site.instructions()),
        ]
    }

    fn shells_know_session(&self) -> bool {
        false
    }

    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        &[]
    }

    fn can_be_woken(&self) -> bool {
        false
    }
}
