//! `cargo xtask agents [--strict] [WORD…]`: tests the MCP server and the kit with real clients.
//!
//! Everything that a check needs is installed into one temporary directory, which is removed at the
//! end. Only this needs the network. The checks are scripts in `xtask/agents`. A check passes if it
//! succeeds and leaves no process behind.

mod kills;
mod more;
mod package;
mod sandbox;
mod setups;
mod stories;

use crate::step;
use package::Package;
use sandbox::Sandbox;
use std::process::Command;

struct Check {
    name: String,
    needs: Package,
    command: Box<dyn Fn(&Sandbox) -> Command>,
}

impl Check {
    fn new(
        name: impl Into<String>,
        needs: Package,
        command: impl Fn(&Sandbox) -> Command + 'static,
    ) -> Check {
        Check {
            name: name.into(),
            needs,
            command: Box::new(command),
        }
    }
}

/// The checks of the MCP server with clients that are no agents.
fn clients() -> Vec<Check> {
    vec![
        Check::new(
            "Codex, killed and resumed: told once, by a tool",
            Package::Codex,
            |sandbox| codex(sandbox, "tool"),
        ),
        Check::new(
            "Codex, killed and resumed: told once, by a hook",
            Package::Codex,
            |sandbox| codex(sandbox, "hook"),
        ),
        Check::new(
            "Codex, its hooks trusted: told once in a turn, by the hook after a tool",
            Package::Codex,
            |sandbox| codex(sandbox, "after"),
        ),
        Check::new(
            "Gemini CLI: told once in a turn, by the hook after a tool",
            Package::Gemini,
            gemini,
        ),
        Check::new("Python mcp over stdio", Package::Python, |sandbox| {
            client(sandbox, "mcp", "stdio")
        }),
        Check::new("Python mcp over HTTP", Package::Python, |sandbox| {
            client(sandbox, "mcp", "http")
        }),
        Check::new("Python fastmcp over stdio", Package::Python, |sandbox| {
            client(sandbox, "fastmcp", "stdio")
        }),
        Check::new("Python fastmcp over HTTP", Package::Python, |sandbox| {
            client(sandbox, "fastmcp", "http")
        }),
        Check::new(
            "MCP inspector: strict lint of the tools",
            Package::Inspector,
            inspector,
        ),
        Check::new(
            "MCP conformance suite, 2025-11-25",
            Package::Conformance,
            |sandbox| conformance(sandbox, "2025-11-25"),
        ),
        Check::new(
            "MCP conformance suite, 2026-07-28",
            Package::Conformance,
            |sandbox| conformance(sandbox, "2026-07-28"),
        ),
    ]
}

/// Both programs, and the server that the conformance suite runs against.
const BUILD: [&str; 9] = [
    "build",
    "--locked",
    "--package",
    "outlive-cli",
    "--bins",
    "--package",
    "outlive-mcp",
    "--example",
    "fixtures",
];

fn codex(sandbox: &Sandbox, route: &str) -> Command {
    let mut command = sandbox.script("python3".as_ref(), "codex.py");
    command
        .arg(route)
        .arg(sandbox.codex())
        .arg(sandbox.program("outlive"))
        .arg(sandbox.work());
    command
}

fn gemini(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.script("python3".as_ref(), "gemini.py");
    command
        .args(sandbox.gemini())
        .arg(sandbox.program("outlive"))
        .arg(sandbox.work());
    command
}

fn client(sandbox: &Sandbox, library: &str, transport: &str) -> Command {
    let mut command = sandbox.script(&sandbox.python(), "clients.py");
    command
        .args([library, transport])
        .arg(sandbox.program("outlive"))
        .arg(sandbox.work());
    command
}

fn inspector(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.script("python3".as_ref(), "inspector.py");
    command
        .arg(sandbox.inspector())
        .arg(sandbox.program("outlive"))
        .arg(sandbox.work());
    command
}

fn conformance(sandbox: &Sandbox, revision: &str) -> Command {
    let mut command = sandbox.script("python3".as_ref(), "conformance.py");
    command
        .arg(revision)
        .args(sandbox.suite())
        .arg(sandbox.program("examples/fixtures"))
        .arg(sandbox.work());
    command
}

enum Outcome {
    Passed(String),
    Failed(String),
    /// Something that it needs is not available here.
    Skipped(String),
}

pub fn agents(args: &[String]) -> Result<(), String> {
    let (options, words): (Vec<_>, Vec<_>) = args.iter().partition(|arg| arg.starts_with('-'));
    let is_strict = match options.as_slice() {
        [] => false,
        [option] if *option == "--strict" => true,
        _ => return Err("cargo xtask agents [--strict] [WORD…]".to_owned()),
    };
    let is_meant = |check: &&Check| words.is_empty() || words.iter().any(|word| check.has(word));
    step::run("cargo", &BUILD)?;
    let mut sandbox = Sandbox::make()?;
    let mut table = Vec::new();
    let agents = stories::checks().chain(kills::checks());
    let checks = agents.chain(setups::checks()).chain(clients());
    let checks: Vec<Check> = checks.collect();
    for check in checks.iter().filter(is_meant) {
        table.push((check.name.as_str(), check.outcome(&mut sandbox)));
    }
    drop(sandbox);
    show(&table);
    let is_bad = |outcome: &Outcome| match outcome {
        Outcome::Passed(_) => false,
        Outcome::Failed(_) => true,
        Outcome::Skipped(_) => is_strict,
    };
    match table.iter().filter(|(_, outcome)| is_bad(outcome)).count() {
        0 => Ok(()),
        bad => Err(format!("{bad} of {} checks did not pass", table.len())),
    }
}

impl Check {
    fn has(&self, word: &str) -> bool {
        self.name.to_lowercase().contains(&word.to_lowercase())
    }

    fn outcome(&self, sandbox: &mut Sandbox) -> Outcome {
        if let Err(reason) = sandbox.install(self.needs) {
            return Outcome::Skipped(reason);
        }
        println!("\n{}", self.name);
        match sandbox.check(&self.command) {
            Ok(said) => Outcome::Passed(said),
            Err(reason) => Outcome::Failed(reason),
        }
    }
}

fn show(table: &[(&str, Outcome)]) {
    let width = table.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    println!("\n{:width$}  result", "check");
    for (name, outcome) in table {
        let (word, said) = match outcome {
            Outcome::Passed(said) => ("passed", said),
            Outcome::Failed(reason) => ("FAILED", reason),
            Outcome::Skipped(reason) => ("skipped", reason),
        };
        println!("{name:width$}  {word:7}  {said}");
    }
}
