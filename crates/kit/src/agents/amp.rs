//! Amp: an MCP entry, a plugin instead of hooks, and instructions.

use crate::hook::Occasion;
use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The plugin. It calls `outlive hook`, because Amp itself has no hooks.
const PLUGIN: &str = include_str!("../../../../plugins/amp/outlive.ts");

pub struct Amp;

impl Profile for Amp {
    fn name(&self) -> &'static str {
        "amp"
    }

    fn program(&self) -> &'static str {
        "amp"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.config.join("amp")
    }

    fn project_directory(&self) -> &'static str {
        ".amp"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"command": site.program, "args": ["mcp"]});
        vec![
            (
                site.own.join("settings.json"),
                site.server(Dialect::Comments, "amp.mcpServers", server),
            ),
            (
                site.own.join("plugins/outlive.ts"),
                Piece::Own(plugin(site.program)),
            ),
            (site.beside("AGENTS.md"), site.instructions()),
        ]
    }

    fn shells_know_session(&self) -> bool {
        false
    }

    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        &[("agent.start", Occasion::UserPromptSubmit)]
    }

    fn only_waits(&self) -> bool {
        true
    }

    /// What the plugin returns to Amp when a turn starts.
    fn context_answer(&self, _occasion: Occasion, text: &str) -> Value {
        json!({"message": {"content": text}})
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
        let call = r#"spawn("/a \"b\"/outlive", ["hook", event, "--agent", "amp"])"#;
        assert!(text.contains(call), "{text}");
    }
}
