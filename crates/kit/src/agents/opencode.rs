//! opencode: an MCP entry, a plugin instead of hooks, and instructions.

use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The plugin. It calls `outlive hook`, because opencode itself has no hooks.
const PLUGIN: &str = include_str!("../../../../plugins/opencode/outlive.js");

pub struct Opencode;

impl Profile for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn program(&self) -> &'static str {
        "opencode"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.config.join("opencode")
    }

    fn project_directory(&self) -> &'static str {
        ".opencode"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"type": "local", "command": [site.program, "mcp", "--caller-argument"], "enabled": true});
        vec![
            (
                existing_form(&site.beside("opencode.json")),
                site.server(Dialect::Comments, "mcp", server),
            ),
            (
                site.own.join("plugins/outlive.js"),
                Piece::Own(plugin(site.program)),
            ),
            (site.beside("AGENTS.md"), site.instructions()),
        ]
    }

    fn shells_know_session(&self) -> bool {
        true
    }

    fn only_waits(&self) -> bool {
        true
    }
}

/// The file with comments (`.jsonc`), if only that one exists.
fn existing_form(path: &Path) -> PathBuf {
    let commented = path.with_extension("jsonc");
    match commented.is_file() && !path.is_file() {
        true => commented,
        false => path.to_owned(),
    }
}

/// The plugin, made to start this program.
fn plugin(program: &str) -> String {
    PLUGIN.replace(
        "spawn(\"outlive\"",
        &format!("spawn({}", Value::from(program)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_starts_the_program_that_is_there() {
        assert_eq!(plugin("outlive"), PLUGIN);
        let text = plugin("/a \"b\"/outlive");
        assert!(
            text.contains(r#"spawn("/a \"b\"/outlive", ["hook", event"#),
            "{text}"
        );
    }
}
