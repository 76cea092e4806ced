//! Cline: an MCP entry, a hook in a file of our own, and instructions.

use crate::hook::Occasion;
use crate::profile::{Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Its MCP servers. A project has no such file.
const SERVERS: &str = "data/settings/cline_mcp_settings.json";

pub struct Cline;

impl Profile for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn program(&self) -> &'static str {
        "cline"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.home.join(".cline")
    }

    fn project_directory(&self) -> &'static str {
        ".cline"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let hooks = self.occasions().iter().map(|(name, occasion)| {
            let path = site.own.join(format!("hooks/{name}.sh"));
            (path, Piece::Own(hook(site, *occasion)))
        });
        let mut files: Vec<_> = hooks.collect();
        match site.scope {
            Scope::User => {
                let server = json!({"type": "stdio", "command": site.program, "args": ["mcp"]});
                let servers = site.server(Dialect::Strict, "mcpServers", server);
                files.insert(0, (site.own.join(SERVERS), servers));
                files.push((site.own.join("rules/outlive.md"), site.instructions()));
            }
            Scope::Project(root) => files.push((root.join("AGENTS.md"), site.instructions())),
        }
        files
    }

    fn note(&self, scope: &Scope) -> Option<&'static str> {
        (*scope != Scope::User).then_some(
            "Cline reads no MCP servers from a project: run `outlive setup cline` too, without --project",
        )
    }

    fn shells_know_session(&self) -> bool {
        false
    }

    /// The hook before a tool call shows to our MCP server which conversation calls. The hook at the end of a
    /// turn shows that the model has read what it was told; Cline does not read what it prints.
    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        &[
            ("PreToolUse", Occasion::PreToolUse),
            ("PostToolUse", Occasion::PostToolUse),
            ("TaskComplete", Occasion::Stop),
        ]
    }

    fn can_be_woken(&self) -> bool {
        false
    }

    fn reads_answer(&self, occasion: Occasion) -> bool {
        occasion != Occasion::Stop
    }

    fn context_answer(&self, _occasion: Occasion, text: &str) -> Value {
        json!({"contextModification": text})
    }
}

/// A script that becomes our hook. Cline starts it with bash, so it need not be executable.
fn hook(site: &Site<'_>, occasion: Occasion) -> String {
    format!(
        "# Written by `outlive setup cline`, and removed by `outlive setup cline --undo`.\nexec {}\n",
        site.hook_command(occasion)
    )
}
