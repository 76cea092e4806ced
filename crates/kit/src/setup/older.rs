//! What setup wrote before it kept a journal. The files in `older/` are what it wrote into an empty project.
//!
//! They are used for one question only: whether a setup without a journal is exactly what that version wrote.

use super::block;
use super::json::Dialect;
use super::piece::{Instructions, Part, Piece};
use crate::agent::Agent;
use serde_json::{Value, json};

/// The instructions of those versions. The oldest comes first.
const INSTRUCTIONS: [&str; 4] = [
    include_str!("older/instructions-1.md"),
    include_str!("older/instructions-2.md"),
    include_str!("older/instructions-3.md"),
    include_str!("older/instructions-4.md"),
];
const OPENCODE_PLUGIN: &str = include_str!("older/opencode-plugin.js");

/// The JSON files: the agent, the first key of the file, and what was in it.
const FILES: [(&str, &str, &str); 7] = [
    (
        "claude-code",
        "mcpServers",
        include_str!("older/claude-code-servers.json"),
    ),
    (
        "claude-code",
        "hooks",
        include_str!("older/claude-code-settings.json"),
    ),
    ("codex", "hooks", include_str!("older/codex-hooks.json")),
    (
        "gemini",
        "mcpServers",
        include_str!("older/gemini-settings.json"),
    ),
    ("opencode", "mcp", include_str!("older/opencode.json")),
    (
        "cursor",
        "mcpServers",
        include_str!("older/cursor-servers.json"),
    ),
    ("cursor", "hooks", include_str!("older/cursor-hooks.json")),
];

/// Whether those versions knew this agent.
pub fn knew(agent: Agent) -> bool {
    FILES.iter().any(|(name, _, _)| *name == agent.name())
}

/// Whether these are instructions of ours, of any version.
pub fn are_instructions(text: &str) -> bool {
    let is = |known: &&str| known.trim_end() == text.trim_end();
    is(&block::instructions()) || INSTRUCTIONS.iter().any(is)
}

/// What those versions wrote in the place of this piece, to start this program.
pub fn pieces(piece: &Piece, agent: Agent, program: &str) -> Vec<Piece> {
    if !matches!(piece, Piece::Instructions(_)) {
        return one(piece, agent, program).into_iter().collect();
    }
    let instructions = |text: &&str| {
        Piece::Instructions(Instructions {
            agent,
            text: (*text).to_owned(),
        })
    };
    INSTRUCTIONS.iter().map(instructions).collect()
}

fn one(piece: &Piece, agent: Agent, program: &str) -> Option<Piece> {
    match piece {
        Piece::Json { dialect, parts } => {
            let keys = parts.iter().filter_map(|part| match part {
                Part::Server { path, .. } | Part::Hook { path, .. } => path.first(),
                Part::Word { .. } | Part::Needed { .. } => None,
            });
            let keys: Vec<&String> = keys.collect();
            let (_, _, text) = FILES.iter().find(|(name, key, _)| {
                *name == agent.name() && keys.iter().any(|own| own == key)
            })?;
            json_piece(*dialect, text, program)
        }
        Piece::TomlServer(_) if agent.name() == "codex" => Some(Piece::TomlServer(json!({
            "command": program, "args": ["mcp"],
        }))),
        Piece::Own(_) if agent.name() == "opencode" => {
            let start = format!("spawn({}", Value::from(program));
            let text = OPENCODE_PLUGIN.replace("spawn(\"outlive\"", &start);
            Some(Piece::Own(text))
        }
        Piece::TomlServer(_) | Piece::Instructions(_) | Piece::Own(_) => None,
    }
}

fn json_piece(dialect: Dialect, text: &str, program: &str) -> Option<Piece> {
    let root: Value = serde_json::from_str(text).ok()?;
    let mut parts = Vec::new();
    for (key, value) in root.as_object()? {
        if let Some(server) = value.get("outlive") {
            parts.push(Part::server(
                &[key, "outlive"],
                with_program(server, program),
            ));
            continue;
        }
        let Some(events) = value.as_object() else {
            parts.push(Part::needed(key, value.clone()));
            continue;
        };
        for (event, hooks) in events {
            let hook = hooks.get(0)?;
            parts.push(Part::hook(&[key, event], with_program(hook, program)));
        }
    }
    Some(Piece::Json { dialect, parts })
}

/// The value with this program in the place of `outlive`.
fn with_program(value: &Value, program: &str) -> Value {
    match value {
        Value::String(text) if text == "outlive" => Value::from(program),
        Value::String(text) => match text.strip_prefix("outlive hook") {
            Some(rest) => {
                let quoted = shlex::try_quote(program).map_or(program.into(), |quoted| quoted);
                Value::from(format!("{quoted} hook{rest}"))
            }
            None => value.clone(),
        },
        Value::Array(values) => values
            .iter()
            .map(|value| with_program(value, program))
            .collect(),
        Value::Object(members) => members
            .iter()
            // The name of a hook is no program.
            .map(|(key, value)| match key.as_str() {
                "name" => (key.clone(), value.clone()),
                _ => (key.clone(), with_program(value, program)),
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}
