//! opencode: an MCP entry, a plugin instead of hooks, and instructions.

use crate::agent::Agent;
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
        files(site, "opencode.json")
    }

    fn shells_know_session(&self) -> bool {
        true
    }

    fn only_waits(&self) -> bool {
        true
    }
}

/// The files of opencode or of a relative, which has another name for the file of settings.
pub fn files(site: &Site<'_>, settings: &str) -> Vec<(PathBuf, Piece)> {
    let command = [site.program, "mcp", "--caller-argument"];
    let server = json!({"type": "local", "command": command, "enabled": true});
    vec![
        (
            existing_form(&site.beside(settings)),
            site.server(Dialect::Comments, "mcp", server),
        ),
        (
            site.own.join("plugins/outlive.js"),
            Piece::Own(plugin(site.agent, site.program)),
        ),
        (site.beside("AGENTS.md"), site.instructions()),
    ]
}

/// The file with comments (`.jsonc`), if only that one exists.
fn existing_form(path: &Path) -> PathBuf {
    let commented = path.with_extension("jsonc");
    match commented.is_file() && !path.is_file() {
        true => commented,
        false => path.to_owned(),
    }
}

/// The plugin, made for this agent and to start this program.
fn plugin(agent: Agent, program: &str) -> String {
    PLUGIN.replace("opencode", agent.name()).replace(
        "spawn(\"outlive\"",
        &format!("spawn({}", Value::from(program)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_starts_the_program_that_is_there() {
        let plugin = |agent: &str, program| Agent::parse(agent).map(|agent| plugin(agent, program));
        assert_eq!(plugin("opencode", "outlive").as_deref(), Ok(PLUGIN));
        let text = plugin("kilo", "/a \"b\"/outlive").unwrap_or_default();
        let call = r#"spawn("/a \"b\"/outlive", ["hook", event, "--agent", "kilo"])"#;
        assert!(text.contains(call), "{text}");
    }
}
