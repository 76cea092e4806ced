//! The help of every verb, as a person at a terminal 100 columns wide reads it.

use crate::session::Session;
use crate::snapshot::assert_snapshot;

const VERBS: [&str; 37] = [
    "run",
    "adopt",
    "list",
    "show",
    "log",
    "wait",
    "watch",
    "label",
    "stop",
    "signal",
    "send",
    "attach",
    "resize",
    "inbox",
    "setup",
    "hook",
    "post",
    "session",
    "session end",
    "prune",
    "place",
    "place add",
    "place list",
    "place check",
    "place connect",
    "place remove",
    "place lend",
    "place clean",
    "detach",
    "doorbell",
    "doorbell test",
    "mcp",
    "rpc",
    "serve",
    "doctor",
    "completions",
    "man",
];

#[test]
fn help() {
    let mut session = Session::new();
    session.types("--help");
    assert_snapshot("help/outlive", &session.transcript());
}

#[test]
fn help_of_each_verb() {
    for verb in VERBS {
        let mut session = Session::new();
        session.types(&format!("{verb} --help"));
        assert_snapshot(
            &format!("help/{}", verb.replace(' ', "_")),
            &session.transcript(),
        );
    }
}

#[test]
fn short_help() {
    let mut session = Session::new();
    for verb in ["run", "log", "wait", "inbox"] {
        session.types(&format!("{verb} -h"));
    }
    assert_snapshot("help/short", &session.transcript());
}

#[test]
fn every_verb_is_here() {
    let mut session = Session::new();
    let help = session.does("--help");
    let commands = help.split_once("Commands:").unwrap().1;
    let commands = commands.split_once("\n\n").unwrap().0;
    let listed = commands
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' ') && !line.starts_with("help "))
        .filter_map(|line| line.split_whitespace().next());
    for verb in listed {
        assert!(VERBS.contains(&verb), "{verb} has no snapshot");
    }
}
