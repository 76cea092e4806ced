//! Codex: an MCP entry in TOML, hooks in Claude Code's form, and instructions.

use crate::hook::Occasion;
use crate::profile::{OCCASIONS_WITH_PRE_TOOL_USE, Offer, Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::Piece;
use crate::setup::switch::Switch;
use outlive::environment;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Where Codex keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "CODEX_HOME";
/// The variables that Codex passes on to our server and so to the jobs. It drops all others but a few, such as `HOME`
/// and `PATH`. None of these holds a secret. The user can add more names to the list.
const PASSED_ON: [&str; 19] = [
    // Where the jobs are and whose they are.
    environment::HOME,
    environment::SESSION,
    environment::KEEPER,
    "XDG_STATE_HOME",
    environment::CONFIG_HOME,
    // Without these, a job in a session of systemd cannot survive the logout.
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    // Which tools a command finds, and where these keep their files.
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PYENV_VERSION",
    "PYTHONPATH",
    "NVM_BIN",
    "NODE_PATH",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    environment::CERTIFICATES,
];

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
                Piece::TomlServer(server(site)),
            ),
            (site.own.join("hooks.json"), hooks),
            (site.beside("AGENTS.md"), site.instructions()),
        ]
    }

    fn switches(&self, site: &Site<'_>) -> Vec<Switch> {
        vec![Switch {
            file: site.own.join("config.toml"),
            path: &["features", "hooks"],
            off: false,
            means: "Codex then calls no hook of Outlive, and learns of the end of a job only from the answers of \
                    Outlive's tools",
        }]
    }

    fn offer(&self) -> Option<Offer> {
        Some(Offer {
            without: "Codex asks before each call that starts or stops a job, and `codex exec` refuses it",
            with: "Codex runs such calls unasked, and the jobs run as you, outside Codex's sandbox",
        })
    }

    fn note(&self, _scope: &Scope) -> Option<&'static str> {
        Some("Codex runs new hooks once you trust them: type /hooks there")
    }

    /// Codex does not say when the tool call began that the hook after it is about.
    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        OCCASIONS_WITH_PRE_TOOL_USE
    }

    fn shells_know_session(&self) -> bool {
        true
    }
}

fn server(site: &Site<'_>) -> Value {
    let mut server = json!({
        "command": site.program, "args": ["mcp"], "env_vars": PASSED_ON,
    });
    if site.may_call {
        server["default_tools_approval_mode"] = json!("approve");
    }
    server
}
