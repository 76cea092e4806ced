//! What each agent is given, and where.

use super::json::Dialect;
use super::piece::{Part, Piece};
use super::{Refused, Scope};
use crate::agent::Agent;
use outlive::environment;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A hook that only looks answers in milliseconds; more means that something is wrong.
const SECONDS: u64 = 10;
/// One that waits does so while the agent is idle: for a night and a day.
const WAIT_SECONDS: u64 = 24 * 60 * 60;
/// So often in a row Cursor goes on because a hook has asked for it.
const LOOPS: u64 = 10;

/// What opencode has instead of hooks: a program of its own.
const OPENCODE: &str = include_str!("../../../../plugins/opencode/outlive.js");

/// Where a user's agents keep what is configured, and what they are to start.
#[derive(Clone, Debug)]
pub struct Places {
    home: PathBuf,
    claude: Option<PathBuf>,
    codex: PathBuf,
    config: PathBuf,
    /// `outlive`, where that is found; else where this program is.
    program: String,
}

/// A file that an agent reads, and what is put into it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where links are expected to be the user's own affair up to.
    pub base: PathBuf,
    pub path: PathBuf,
    pub piece: Piece,
}

impl Places {
    /// As the environment says.
    pub fn of_user() -> Result<Places, Refused> {
        let directory = |name| environment::non_empty(name).map(PathBuf::from);
        let home = etcetera::home_dir().map_err(|_| Refused::NoHome)?;
        let found = environment::on_path("outlive").is_some();
        let own = std::env::current_exe().ok().filter(|_| !found);
        Ok(Places {
            claude: directory(environment::CLAUDE_CONFIG),
            codex: directory(environment::CODEX_HOME).unwrap_or_else(|| home.join(".codex")),
            config: directory(environment::CONFIG_HOME).unwrap_or_else(|| home.join(".config")),
            program: own.map_or("outlive".to_owned(), |path| path.display().to_string()),
            home,
        })
    }

    /// Where an agent keeps a user's configuration.
    fn directory(&self, agent: Agent) -> PathBuf {
        match agent {
            Agent::ClaudeCode => match &self.claude {
                Some(directory) => directory.clone(),
                None => self.home.join(".claude"),
            },
            Agent::Codex => self.codex.clone(),
            Agent::Gemini => self.home.join(".gemini"),
            Agent::Opencode => self.config.join("opencode"),
            Agent::Cursor => self.home.join(".cursor"),
        }
    }

    /// Whether this agent seems to be used here.
    pub fn has(&self, agent: Agent) -> bool {
        environment::on_path(agent.program()).is_some() || self.directory(agent).is_dir()
    }

    /// A project is for others too, whose programs are elsewhere.
    fn program(&self, scope: &Scope) -> &str {
        match scope {
            Scope::User => &self.program,
            Scope::Project(_) => "outlive",
        }
    }

    /// Where files are looked for, and which of it is the agent's own directory.
    fn roots(&self, agent: Agent, scope: &Scope) -> (PathBuf, PathBuf) {
        let directory = self.directory(agent);
        match scope {
            Scope::User if directory.starts_with(&self.home) => (self.home.clone(), directory),
            Scope::User => (directory.clone(), directory),
            Scope::Project(root) => (root.clone(), project_directory(agent, root)),
        }
    }

    /// Claude Code has its servers apart from the rest.
    fn claude_servers(&self, scope: &Scope) -> PathBuf {
        match (scope, &self.claude) {
            (Scope::Project(root), _) => root.join(".mcp.json"),
            (Scope::User, Some(directory)) => directory.join(".claude.json"),
            (Scope::User, None) => self.home.join(".claude.json"),
        }
    }

    pub(super) fn targets(&self, agent: Agent, scope: &Scope) -> Vec<Target> {
        let program = self.program(scope);
        let (base, own) = self.roots(agent, scope);
        // What a project's instructions are in lies at its root.
        let beside = |name: &str| match scope {
            Scope::Project(root) => root.join(name),
            Scope::User => own.join(name),
        };
        let files = match agent {
            Agent::ClaudeCode => vec![
                (self.claude_servers(scope), server(agent, program, &[])),
                (own.join("settings.json"), hooks(agent, program)),
                (beside("CLAUDE.md"), Piece::Instructions(agent)),
            ],
            Agent::Codex => vec![
                (
                    own.join("config.toml"),
                    Piece::TomlServer(program.to_owned()),
                ),
                (own.join("hooks.json"), hooks(agent, program)),
                (beside("AGENTS.md"), Piece::Instructions(agent)),
            ],
            Agent::Gemini => vec![
                (
                    own.join("settings.json"),
                    server(agent, program, &hook_parts(agent, program)),
                ),
                (beside("GEMINI.md"), Piece::Instructions(agent)),
            ],
            Agent::Opencode => vec![
                (
                    opencode_file(&beside("opencode.json")),
                    server(agent, program, &[]),
                ),
                (
                    own.join("plugins/outlive.js"),
                    Piece::Own(opencode_plugin(program)),
                ),
                (beside("AGENTS.md"), Piece::Instructions(agent)),
            ],
            Agent::Cursor => {
                let mut files = vec![
                    (own.join("mcp.json"), server(agent, program, &[])),
                    (own.join("hooks.json"), hooks(agent, program)),
                ];
                if *scope != Scope::User {
                    files.push((beside("AGENTS.md"), Piece::Instructions(agent)));
                }
                files
            }
        };
        let target = |(path, piece)| Target {
            base: base.clone(),
            path,
            piece,
        };
        files.into_iter().map(target).collect()
    }

    /// What a person should know besides.
    pub(super) fn notes(&self, agent: Agent, scope: &Scope) -> Vec<String> {
        let mut notes = Vec::new();
        match agent {
            Agent::Codex => notes.push("Codex runs new hooks once you trust them: type /hooks there".to_owned()),
            Agent::Cursor if *scope == Scope::User => notes.push("Cursor keeps a user's instructions in its settings: paste SKILL.md there (Rules), or set up a project".to_owned()),
            Agent::ClaudeCode | Agent::Gemini | Agent::Opencode | Agent::Cursor => {}
        }
        if environment::on_path("outlive").is_none() {
            notes.push(
                "`outlive` is not on PATH: agents cannot run it by that name in their shells"
                    .to_owned(),
            );
        }
        notes
    }
}

fn project_directory(agent: Agent, root: &Path) -> PathBuf {
    match agent {
        Agent::ClaudeCode => root.join(".claude"),
        Agent::Codex => root.join(".codex"),
        Agent::Gemini => root.join(".gemini"),
        Agent::Opencode => root.join(".opencode"),
        Agent::Cursor => root.join(".cursor"),
    }
}

/// The one with comments, where there is one.
fn opencode_file(path: &Path) -> PathBuf {
    let commented = path.with_extension("jsonc");
    match commented.is_file() && !path.is_file() {
        true => commented,
        false => path.to_owned(),
    }
}

/// It starts the program by its name, where that will do.
fn opencode_plugin(program: &str) -> String {
    OPENCODE.replace(
        "spawn(\"outlive\"",
        &format!("spawn({}", Value::from(program)),
    )
}

/// Claude Code, Codex and Cursor read plain JSON.
fn dialect(agent: Agent) -> Dialect {
    match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Cursor => Dialect::Strict,
        Agent::Gemini | Agent::Opencode => Dialect::Comments,
    }
}

fn server(agent: Agent, program: &str, more: &[Part]) -> Piece {
    let (outer, value) = match agent {
        Agent::Opencode => (
            "mcp",
            json!({"type": "local", "command": [program, "mcp"], "enabled": true}),
        ),
        Agent::ClaudeCode => (
            "mcpServers",
            json!({"type": "stdio", "command": program, "args": ["mcp"]}),
        ),
        _ => ("mcpServers", json!({"command": program, "args": ["mcp"]})),
    };
    let path = vec![outer, "outlive"];
    let parts = [&[Part::Server { path, value }], more].concat();
    Piece::Json {
        dialect: dialect(agent),
        parts,
    }
}

fn hooks(agent: Agent, program: &str) -> Piece {
    Piece::Json {
        dialect: dialect(agent),
        parts: hook_parts(agent, program),
    }
}

/// The agent's own names for the occasions, and which hook serves each.
fn occasions(agent: Agent) -> &'static [(&'static str, &'static str)] {
    match agent {
        Agent::ClaudeCode | Agent::Codex => &[
            ("SessionStart", "session-start"),
            ("UserPromptSubmit", "user-prompt-submit"),
            ("PostToolUse", "post-tool-use"),
            ("Stop", "stop"),
        ],
        Agent::Gemini => &[
            ("SessionStart", "session-start"),
            ("BeforeAgent", "user-prompt-submit"),
            ("AfterTool", "post-tool-use"),
            ("AfterAgent", "stop"),
        ],
        Agent::Cursor => &[
            ("sessionStart", "session-start"),
            ("postToolUse", "post-tool-use"),
            ("stop", "stop"),
        ],
        Agent::Opencode => &[],
    }
}

fn hook_parts(agent: Agent, program: &str) -> Vec<Part> {
    let needed = (agent == Agent::Cursor).then(|| Part::Needed {
        key: "version",
        value: json!(1),
    });
    let hook = |(name, event): &(&'static str, &str)| Part::Hook {
        path: vec!["hooks", name],
        value: hook_entry(agent, program, event),
    };
    needed
        .into_iter()
        .chain(occasions(agent).iter().map(hook))
        .collect()
}

fn hook_entry(agent: Agent, program: &str, event: &str) -> Value {
    let quoted = shlex::try_quote(program).map_or(program.into(), |quoted| quoted);
    let command = |event: &str| format!("{quoted} hook {event} --agent {agent}");
    let one = json!({"type": "command", "command": command(event), "timeout": SECONDS});
    match (agent, event) {
        (Agent::Cursor, "stop") => json!({"command": command(event), "loop_limit": LOOPS}),
        (Agent::Cursor, _) => json!({"command": command(event)}),
        (Agent::Gemini, _) => json!({"hooks": [{
            "name": "outlive", "type": "command",
            "command": command(event), "timeout": 1000 * SECONDS,
        }]}),
        // Beside the turn's end, one that goes on waiting and wakes the agent when there is news.
        (Agent::ClaudeCode, "stop") => json!({"hooks": [one, {
            "type": "command", "command": command("wait"),
            "async": true, "asyncRewake": true, "timeout": WAIT_SECONDS,
        }]}),
        (Agent::ClaudeCode, "post-tool-use") => json!({"matcher": "*", "hooks": [one]}),
        _ => json!({"hooks": [one]}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_starts_the_program_that_is_there() {
        assert_eq!(opencode_plugin("outlive"), OPENCODE);
        let text = opencode_plugin("/a \"b\"/outlive");
        assert!(
            text.contains(r#"spawn("/a \"b\"/outlive", ["hook", "wait""#),
            "{text}"
        );
    }
}
