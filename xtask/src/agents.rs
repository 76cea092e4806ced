//! `cargo xtask agents [--strict] [WORD…]`: the MCP server and the kit, with real clients.
//!
//! What a check needs is installed into one temporary directory, which is gone in the end; only that
//! needs the network. The checks themselves are scripts in `xtask/agents`; one passes if it succeeds and
//! leaves no process behind.

mod package;
mod place;

use crate::step;
use package::Package;
use place::Place;
use std::process::Command;

struct Check {
    name: &'static str,
    needs: Package,
    command: fn(&Place) -> Command,
}

const CHECKS: [Check; 11] = [
    Check {
        name: "Codex, killed and resumed: told once, by a tool",
        needs: Package::Codex,
        command: |place| codex(place, "tool"),
    },
    Check {
        name: "Codex, killed and resumed: told once, by a hook",
        needs: Package::Codex,
        command: |place| codex(place, "hook"),
    },
    Check {
        name: "Codex, its hooks trusted: told once in a turn, by the hook after a tool",
        needs: Package::Codex,
        command: |place| codex(place, "after"),
    },
    Check {
        name: "Gemini CLI: told once in a turn, by the hook after a tool",
        needs: Package::Gemini,
        command: gemini,
    },
    Check {
        name: "Python mcp over stdio",
        needs: Package::Python,
        command: |place| client(place, "mcp", "stdio"),
    },
    Check {
        name: "Python mcp over HTTP",
        needs: Package::Python,
        command: |place| client(place, "mcp", "http"),
    },
    Check {
        name: "Python fastmcp over stdio",
        needs: Package::Python,
        command: |place| client(place, "fastmcp", "stdio"),
    },
    Check {
        name: "Python fastmcp over HTTP",
        needs: Package::Python,
        command: |place| client(place, "fastmcp", "http"),
    },
    Check {
        name: "MCP inspector: strict lint of the tools",
        needs: Package::Inspector,
        command: inspector,
    },
    Check {
        name: "MCP conformance suite, 2025-11-25",
        needs: Package::Conformance,
        command: |place| conformance(place, "2025-11-25"),
    },
    Check {
        name: "MCP conformance suite, 2026-07-28",
        needs: Package::Conformance,
        command: |place| conformance(place, "2026-07-28"),
    },
];

/// Both programs, and the server that the conformance suite is run against.
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

fn codex(place: &Place, route: &str) -> Command {
    let mut command = place.script("python3".as_ref(), "codex.py");
    command
        .arg(route)
        .arg(place.codex())
        .arg(place.program("outlive"))
        .arg(place.work());
    command
}

fn gemini(place: &Place) -> Command {
    let mut command = place.script("python3".as_ref(), "gemini.py");
    command
        .args(place.gemini())
        .arg(place.program("outlive"))
        .arg(place.work());
    command
}

fn client(place: &Place, library: &str, transport: &str) -> Command {
    let mut command = place.script(&place.python(), "clients.py");
    command
        .args([library, transport])
        .arg(place.program("outlive"))
        .arg(place.work());
    command
}

fn inspector(place: &Place) -> Command {
    let mut command = place.script("python3".as_ref(), "inspector.py");
    command
        .arg(place.inspector())
        .arg(place.program("outlive"))
        .arg(place.work());
    command
}

fn conformance(place: &Place, revision: &str) -> Command {
    let mut command = place.script("python3".as_ref(), "conformance.py");
    command
        .arg(revision)
        .args(place.suite())
        .arg(place.program("examples/fixtures"))
        .arg(place.work());
    command
}

enum Outcome {
    Passed(String),
    Failed(String),
    /// What it needs cannot be had here.
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
    let mut place = Place::make()?;
    let mut table = Vec::new();
    for check in CHECKS.iter().filter(is_meant) {
        table.push((check.name, check.outcome(&mut place)));
    }
    drop(place);
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

    fn outcome(&self, place: &mut Place) -> Outcome {
        if let Err(reason) = place.install(self.needs) {
            return Outcome::Skipped(reason);
        }
        println!("\n{}", self.name);
        match place.check(self.command) {
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
