use super::*;
use crate::setup::places::Places;
use crate::setup::{Action, Scope, plan};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every JSON piece that some agent is given.
fn pieces() -> Vec<Piece> {
    let places = Places::of_user().unwrap();
    Agent::all()
        .into_iter()
        .flat_map(|agent| places.targets(agent, &Scope::Project(PathBuf::from("/p"))))
        .map(|target| target.piece)
        .filter(|piece| matches!(piece, Piece::Json { .. }))
        .collect()
}

#[test]
fn what_was_put_in_is_taken_out_and_the_rest_stays() {
    let texts = [
        "{}",
        "{ \"x\" : [ 1,2 ] }",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"stop\": [{\"command\": \"theirs\"}]\n\t},\n\t\"mcpServers\": {}\n}\n",
        "{\"version\":1,\"mcp\":{\"o\":{}}}",
    ];
    for piece in pieces() {
        for text in texts {
            let put = piece.put(text).unwrap();
            assert_eq!(piece.put(&put).unwrap(), put, "twice is once");
            assert!(piece.is_in(&put).unwrap() && !piece.is_in(text).unwrap());
            assert_eq!(piece.take(&put, Some(text)).unwrap().unwrap(), text);
        }
        let new = piece.put("").unwrap();
        assert_eq!(piece.take(&new, None).unwrap(), None);
        // Of an earlier release, or where the program was elsewhere.
        let moved = new.replace("\"outlive", "\"/opt/outlive");
        let moved = moved.replace("\"/opt/outlive\":", "\"outlive\":");
        assert_eq!(piece.take(&moved, None).unwrap(), None, "{moved}");
    }
}

/// Somebody goes on writing in the file between setup and undo.
#[test]
fn what_was_added_meanwhile_stays() {
    for piece in pieces() {
        let original = "{\n  \"a\": 1\n}\n";
        let put = piece.put(original).unwrap();
        let changed = put.replace("\"a\": 1", "\"a\": 2,\n  \"b\": {}");
        let left = piece.take(&changed, Some(original)).unwrap().unwrap();
        let left: Value = serde_json::from_str(&left).unwrap();
        let mut expected = json!({"a": 2, "b": {}});
        if put.contains("\"version\"") {
            expected["version"] = json!(1);
        }
        assert_eq!(left, expected);
    }
}

#[test]
fn a_hook_beside_ours_stays() {
    let mine = json!({"type": "command", "command": "/opt/bin/outlive hook stop"});
    let theirs = json!({"type": "command", "command": "notify outlive hook"});
    let part = Part::Hook {
        path: vec!["hooks", "Stop"],
        value: json!({"hooks": [mine.clone()]}),
    };
    let text =
        json!({"hooks": {"Stop": [{"hooks": [theirs.clone(), mine.clone()]}, {"hooks": [mine]}]}});
    let left = take_part(&text.to_string(), Dialect::Strict, &part, None).unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(left, json!({"hooks": {"Stop": [{"hooks": [theirs]}]}}));
}

#[test]
fn an_older_hook_of_ours_is_replaced_and_a_servers_other_keys_stay() {
    let part = Part::Hook {
        path: vec!["hooks", "Stop"],
        value: json!({"hooks": [{"command": "outlive hook stop --agent codex"}]}),
    };
    let text = r#"{"hooks": {"Stop": [{"hooks": [{"command": "/old/outlive hook stop"}]}]}}"#;
    let put = put_part(text, Dialect::Strict, &part).unwrap();
    assert!(
        put.contains("--agent codex") && !put.contains("/old/"),
        "{put}"
    );
    let part = Part::Server {
        path: vec!["mcpServers", "outlive"],
        value: json!({"command": "outlive", "args": ["mcp"]}),
    };
    let text = r#"{"mcpServers": {"outlive": {"command": "/old", "env": {"A": "b"}}}}"#;
    let put: Value =
        serde_json::from_str(&put_part(text, Dialect::Strict, &part).unwrap()).unwrap();
    let expected = json!({"command": "outlive", "args": ["mcp"], "env": {"A": "b"}});
    assert_eq!(put["mcpServers"]["outlive"], expected);
}

/// What the repository has for those who plug it in by hand is what setup writes.
#[test]
fn the_plugins_are_what_setup_writes() {
    let places = Places::of_user().unwrap();
    let written = |agent, name: &str| -> Value {
        let scope = Scope::Project(PathBuf::from("/p"));
        let mut targets = places
            .targets(Agent::parse(agent).unwrap(), &scope)
            .into_iter();
        let target = targets.find(|target| target.path.ends_with(name)).unwrap();
        serde_json::from_str(&target.piece.put("").unwrap()).unwrap()
    };
    for (agent, name, text) in [
        (
            "claude-code",
            ".claude/settings.json",
            include_str!("../../../../../plugins/claude-code/hooks/hooks.json"),
        ),
        (
            "claude-code",
            ".mcp.json",
            include_str!("../../../../../plugins/claude-code/.mcp.json"),
        ),
        (
            "codex",
            ".codex/hooks.json",
            include_str!("../../../../../plugins/codex/hooks.json"),
        ),
    ] {
        let shipped: Value = serde_json::from_str(text).unwrap();
        assert_eq!(written(agent, name), shipped, "{name}");
    }
}

/// Every file below a directory.
fn files(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => {
                    found.insert(path.clone(), String::new());
                    directories.push(path);
                }
                false => {
                    found.insert(path.clone(), fs::read_to_string(&path).unwrap());
                }
            }
        }
    }
    found
}

fn run(root: &Path, agents: &[Agent], action: Action) -> usize {
    let scope = Scope::Project(root.to_owned());
    let plan = plan(&Places::of_user().unwrap(), agents, &scope, action).unwrap();
    crate::verbs::setup::apply(&plan).unwrap();
    plan.changes.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Agents come in any order, each twice, and go in any other; others' files are as they were.
    #[test]
    fn a_project_is_as_it_was(
        coming in Just(Agent::all()).prop_shuffle(),
        going in Just(Agent::all()).prop_shuffle(),
        instructions in prop::option::of("([a-z#\u{e4} ]{0,9}\n?){0,4}"),
        config in prop::option::of("(# [a-z]{1,5}\n|\n){0,3}([a-c] = [0-9]  # x\n)?"),
    ) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("AGENTS.md", &instructions), (".codex/config.toml", &config)] {
            if let Some(text) = text {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        let before = files(root.path());
        for agent in &coming {
            run(root.path(), &[*agent], Action::Write);
            prop_assert_eq!(run(root.path(), &[*agent], Action::Write), 0);
        }
        for agent in &going {
            run(root.path(), &[*agent], Action::Undo);
        }
        prop_assert_eq!(files(root.path()), before);
    }
}
