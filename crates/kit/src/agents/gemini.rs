//! Gemini CLI: an MCP entry and hooks in one file, and instructions.

use crate::hook::Occasion;
use crate::profile::{HOOK_SECONDS, Offer, Profile, Site, UserDirectories, server_part};
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use crate::setup::switch::Switch;
use outlive::environment;
use serde_json::{Value, json};
use std::path::PathBuf;

pub struct Gemini;

impl Profile for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn program(&self) -> &'static str {
        "gemini"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        user.home.join(".gemini")
    }

    fn project_directory(&self) -> &'static str {
        ".gemini"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let mut server = json!({"command": site.program, "args": ["mcp"]});
        if site.may_call {
            server["trust"] = json!(true);
        }
        let mut parts = vec![server_part("mcpServers", server)];
        parts.extend(site.hook_parts(|occasion| hook(site, occasion)));
        let settings = Piece::Json {
            dialect: Dialect::Comments,
            parts,
        };
        vec![
            (site.own.join("settings.json"), settings),
            (site.beside("GEMINI.md"), site.instructions()),
        ]
    }

    fn switches(&self, site: &Site<'_>) -> Vec<Switch> {
        vec![Switch {
            file: site.own.join("settings.json"),
            path: &["hooksConfig", "enabled"],
            off: false,
            means: "Gemini CLI then calls no hook of Outlive, and learns of the end of a job only from the \
                    answers of Outlive's tools",
        }]
    }

    fn offer(&self) -> Option<Offer> {
        Some(Offer {
            without: "Gemini CLI asks before each call of a tool of Outlive, and `gemini -p` refuses it",
            with: "Gemini CLI runs such calls unasked, and the jobs run as you, outside any sandbox of Gemini CLI",
        })
    }

    fn shells_know_session(&self) -> bool {
        false
    }

    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        &[
            ("SessionStart", Occasion::SessionStart),
            ("BeforeAgent", Occasion::UserPromptSubmit),
            // It does not say when the tool call began that the hook after it is about.
            ("BeforeTool", Occasion::PreToolUse),
            ("AfterTool", Occasion::PostToolUse),
            ("AfterAgent", Occasion::Stop),
        ]
    }

    fn own_variable(&self) -> Option<&'static str> {
        Some(environment::GEMINI_SESSION)
    }

    fn stop_answer(&self, text: &str) -> Value {
        json!({"decision": "deny", "reason": text})
    }
}

/// Gemini CLI measures a hook's time limit in milliseconds.
fn hook(site: &Site<'_>, occasion: Occasion) -> Value {
    json!({"hooks": [{
        "name": "outlive", "type": "command",
        "command": site.hook_command(occasion), "timeout": 1000 * HOOK_SECONDS,
    }]})
}
