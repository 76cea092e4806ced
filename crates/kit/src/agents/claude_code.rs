//! Claude Code: an MCP entry, hooks, a hook that wakes the agent when it is idle, and instructions.

use crate::hook::Occasion;
use crate::profile::{OCCASIONS_WITH_PRE_TOOL_USE, Offer, Profile, Site, UserDirectories};
use crate::setup::Scope;
use crate::setup::json::Dialect;
use crate::setup::piece::{Part, Piece};
use crate::setup::switch::Switch;
use outlive::environment;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Where Claude Code keeps its configuration, if not at the usual place.
const CONFIG_DIRECTORY: &str = "CLAUDE_CONFIG_DIR";
/// Set to 0 in its hooks if no person is there.
const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";
/// How it was started. Releases that do not set [`ATTENDED`] set this: `cli`, or `sdk-cli` for `-p`.
const ENTRY_POINT: &str = "CLAUDE_CODE_ENTRYPOINT";
/// How long the hook that wakes the agent waits while the agent is idle: a day.
const WAIT_SECONDS: u64 = 24 * 60 * 60;
/// The permission for all tools of our server.
const PERMISSION: &str = "mcp__outlive";
/// The names of our tools, whether setup or a plugin has added our server.
const OUR_TOOLS: &str = "mcp__.*outlive.*__.*";
/// Where an administrator puts settings that a user cannot change.
const MANAGED: &str = "/etc/claude-code";

pub struct ClaudeCode;

impl Profile for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn user_directory(&self, user: &UserDirectories) -> PathBuf {
        configured_directory().unwrap_or_else(|| user.home.join(".claude"))
    }

    fn project_directory(&self) -> &'static str {
        ".claude"
    }

    fn files(&self, site: &Site<'_>) -> Vec<(PathBuf, Piece)> {
        let server = json!({"type": "stdio", "command": site.program, "args": ["mcp"]});
        let mut parts = site.hook_parts(|occasion| hook(site, occasion));
        if site.may_call {
            parts.push(Part::word(&["permissions", "allow"], PERMISSION));
        }
        let hooks = Piece::Json {
            dialect: Dialect::Strict,
            parts,
        };
        vec![
            (
                servers_file(site),
                site.server(Dialect::Strict, "mcpServers", server),
            ),
            (site.own.join("settings.json"), hooks),
            (site.beside("CLAUDE.md"), site.instructions()),
        ]
    }

    fn switches(&self, site: &Site<'_>) -> Vec<Switch> {
        let switch = |file: PathBuf, path| Switch {
            file,
            path,
            off: true,
            means: "Claude Code then calls no hook of Outlive, and learns of the end of a job only from the \
                    answers of Outlive's tools",
        };
        let managed = managed_settings(Path::new(MANAGED)).into_iter();
        let managed = managed.flat_map(|file| {
            let only_managed = switch(file.clone(), &["allowManagedHooksOnly"]);
            [switch(file, &["disableAllHooks"]), only_managed]
        });
        // A user's setup is also off in a project that says so, such as the one that setup is called in.
        let project = match site.scope {
            Scope::User => std::env::current_dir()
                .ok()
                .map(|here| here.join(".claude")),
            Scope::Project(_) => Some(self.user_directory(site.user)),
        };
        // Both are one if setup is called in the user's home.
        let project = project.filter(|project| *project != site.own);
        let directories = [Some(site.own.clone()), project];
        let files = directories.into_iter().flatten().flat_map(|directory| {
            ["settings.json", "settings.local.json"].map(|name| directory.join(name))
        });
        managed
            .chain(
                files
                    .into_iter()
                    .map(|file| switch(file, &["disableAllHooks"])),
            )
            .collect()
    }

    fn offer(&self) -> Option<Offer> {
        Some(Offer {
            without: "Claude Code asks before it calls a tool of Outlive, and `claude -p` refuses the call",
            with: "Claude Code runs such calls unasked, and the jobs run as you, outside its sandbox",
        })
    }

    fn occasions(&self) -> &'static [(&'static str, Occasion)] {
        OCCASIONS_WITH_PRE_TOOL_USE
    }

    fn shells_know_session(&self) -> bool {
        true
    }

    /// The turn goes on with the context. It shows its model the reason of a "block" twice.
    fn stop_answer(&self, text: &str) -> Value {
        self.context_answer(Occasion::Stop, text)
    }

    /// Without a person (`claude -p`, the SDK), Claude Code ends after the last turn. It then waits up to 30 s
    /// for a hook that runs in parallel, and asks its model nothing more.
    fn can_be_woken(&self) -> bool {
        is_attended(
            environment::non_empty(ATTENDED).as_deref(),
            environment::non_empty(ENTRY_POINT).as_deref(),
        )
    }
}

fn is_attended(attended: Option<&OsStr>, entry_point: Option<&OsStr>) -> bool {
    match (attended, entry_point) {
        (Some(attended), _) => attended != "0",
        (None, Some(entry_point)) => !entry_point.as_encoded_bytes().starts_with(b"sdk"),
        (None, None) => true,
    }
}

/// The settings that an administrator has made for everyone.
fn managed_settings(directory: &Path) -> Vec<PathBuf> {
    let parts = fs::read_dir(directory.join("managed-settings.d"));
    let parts = parts
        .into_iter()
        .flatten()
        .flatten()
        .map(|part| part.path());
    let mut files: Vec<PathBuf> = parts.collect();
    files.sort();
    files.insert(0, directory.join("managed-settings.json"));
    files
}

fn configured_directory() -> Option<PathBuf> {
    environment::non_empty(CONFIG_DIRECTORY).map(PathBuf::from)
}

/// Claude Code keeps its MCP servers in a file apart from its settings.
fn servers_file(site: &Site<'_>) -> PathBuf {
    match site.scope {
        Scope::Project(root) => root.join(".mcp.json"),
        Scope::User => match configured_directory() {
            Some(directory) => directory.join(".claude.json"),
            None => site.user.home.join(".claude.json"),
        },
    }
}

fn hook(site: &Site<'_>, occasion: Occasion) -> Value {
    let hook = site.plain_hook(occasion);
    match occasion {
        // At the end of a turn, a second hook waits beside the idle agent and wakes it when there is news.
        Occasion::Stop => json!({"hooks": [hook, {
            "type": "command", "command": site.hook_command(Occasion::Wait),
            "async": true, "asyncRewake": true, "timeout": WAIT_SECONDS,
        }]}),
        Occasion::PreToolUse => json!({"matcher": OUR_TOOLS, "hooks": [hook]}),
        Occasion::PostToolUse => json!({"matcher": "*", "hooks": [hook]}),
        _ => json!({"hooks": [hook]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_can_be_woken_who_is_not_there() {
        for (attended, entry_point, expected) in [
            (None, None, true),
            (None, Some("cli"), true),
            (None, Some("sdk-cli"), false),
            (Some("0"), Some("sdk-cli"), false),
            (Some("1"), Some("cli"), true),
        ] {
            let found = is_attended(attended.map(OsStr::new), entry_point.map(OsStr::new));
            assert_eq!(found, expected, "{attended:?} {entry_point:?}");
        }
    }

    #[test]
    fn the_settings_of_an_administrator_are_looked_at() {
        let directory = tempfile::tempdir().expect("a directory");
        let parts = directory.path().join("managed-settings.d");
        fs::create_dir(&parts).expect("a directory in it");
        fs::write(parts.join("20-hooks.json"), "{}").expect("a file in it");
        assert_eq!(
            managed_settings(directory.path()),
            [
                directory.path().join("managed-settings.json"),
                parts.join("20-hooks.json"),
            ]
        );
    }
}
