//! Codex: an MCP entry in TOML, hooks in Claude Code's form, and instructions.

use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use outlive::environment;
use serde_json::json;
use std::path::PathBuf;

/// Where Codex keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "CODEX_HOME";

pub struct Codex;

impl Profile for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn program(&self) -> &'static str {
        "codex"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        environment::non_empty(CONFIG_DIRECTORY)
            .map_or_else(|| user.home.join(".codex"), PathBuf::from)
    }

    fn project_directory(&self) -> &'static str {
        ".codex"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let hooks = Piece::Json {
            dialect: Dialect::Strict,
            parts: site.hook_parts(|occasion| json!({"hooks": [site.plain_hook(occasion)]})),
        };
        vec![
            (
                site.own.join("config.toml"),
                Piece::TomlServer(site.program.to_owned()),
            ),
            (site.own.join("hooks.json"), hooks),
            (site.beside("AGENTS.md"), site.instructions()),
        ]
    }

    fn note(&self, _scope: &Scope) -> Option<&'static str> {
        Some("Codex runs new hooks once you trust them: type /hooks there")
    }

    fn shells_know_session(&self) -> bool {
        true
    }
}
