use super::*;
use crate::setup::places::Places;
use crate::setup::{Action, Request, Scope, apply, plan};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn places() -> Places {
    Places::of_user(PathBuf::from("/nowhere/at/all")).unwrap()
}

/// Every JSON piece that some agent is given.
fn pieces() -> Vec<Piece> {
    let places = places();
    Agent::all()
        .into_iter()
        .flat_map(|agent| places.targets(agent, &Scope::Project(PathBuf::from("/p")), true))
        .map(|target| target.piece)
        .filter(|piece| matches!(piece, Piece::Json { .. }))
        .collect()
}

fn taken(piece: &Piece, text: &str, original: Option<&str>) -> Option<String> {
    let left = piece.take(text, original, &[]).unwrap();
    assert_eq!(left.stays, Vec::<String>::new(), "{text}");
    left.text
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
            assert_eq!(
                piece.update(&put, Some(&piece), None).unwrap(),
                put,
                "twice is once"
            );
            assert!(piece.is_in(&put).unwrap() && !piece.is_partly_in(text).unwrap());
            let nothing = Vec::<String>::new();
            assert_eq!(piece.foreign(&put, None).unwrap(), nothing);
            let left: Value =
                serde_json::from_str(&taken(&piece, &put, Some(text)).unwrap()).unwrap();
            let mut expected: Value = serde_json::from_str(text).unwrap();
            if put.contains("\"version\"") {
                expected["version"] = json!(1);
            }
            assert_eq!(left, expected);
        }
        let new = piece.put("").unwrap();
        assert_eq!(taken(&piece, &new, None), None);
    }
}

/// Somebody goes on writing in the file between setup and undo.
#[test]
fn what_was_added_meanwhile_stays() {
    for piece in pieces() {
        let original = "{\n  \"a\": 1\n}\n";
        let put = piece.put(original).unwrap();
        let changed = put.replace("\"a\": 1", "\"a\": 2,\n  \"b\": {}");
        let left = taken(&piece, &changed, Some(original)).unwrap();
        let left: Value = serde_json::from_str(&left).unwrap();
        let mut expected = json!({"a": 2, "b": {}});
        if put.contains("\"version\"") {
            expected["version"] = json!(1);
        }
        assert_eq!(left, expected);
    }
}

fn one(part: Part) -> Piece {
    Piece::Json {
        dialect: Dialect::Strict,
        parts: vec![part],
    }
}

#[test]
fn a_hook_beside_ours_stays() {
    let mine = json!({"type": "command", "command": "/opt/bin/outlive hook stop"});
    let theirs = json!({"type": "command", "command": "notify outlive hook"});
    let piece = one(Part::hook(
        &["hooks", "Stop"],
        json!({"hooks": [mine.clone()]}),
    ));
    let text =
        json!({"hooks": {"Stop": [{"hooks": [theirs.clone(), mine.clone()]}, {"hooks": [mine]}]}});
    let left = taken(&piece, &text.to_string(), None).unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    assert_eq!(left, json!({"hooks": {"Stop": [{"hooks": [theirs]}]}}));
}

/// Setup updates what it wrote itself. A hook or an entry that somebody else wrote is named, replaced only by
/// `put`, and restored.
#[test]
fn what_setup_wrote_is_updated_and_what_others_wrote_is_named() {
    let hook = |command: &str| json!({"hooks": [{"command": command}]});
    let server = |command: &str| json!({"command": command, "args": ["mcp"]});
    for (old, new) in [
        (
            Part::hook(&["hooks", "Stop"], hook("/old/outlive hook stop")),
            Part::hook(&["hooks", "Stop"], hook("outlive hook stop --agent codex")),
        ),
        (
            Part::server(&["mcpServers", "outlive"], server("/old/outlive")),
            Part::server(&["mcpServers", "outlive"], server("outlive")),
        ),
    ] {
        let (old, new) = (one(old), one(new));
        let text = old.put("").unwrap();
        assert_eq!(
            new.foreign(&text, Some(&old)).unwrap(),
            Vec::<String>::new()
        );
        let updated = new.update(&text, Some(&old), None).unwrap();
        assert!(!updated.contains("/old/"), "{updated}");
        assert_eq!(new.foreign(&text, None).unwrap().len(), 1, "{text}");
        let replaced = new.put(&text).unwrap();
        assert!(!replaced.contains("/old/"), "{replaced}");
        let restored = taken(&new, &format!("{replaced}\n"), Some(&text)).unwrap();
        assert!(
            restored.contains("/old/") && !new.is_in(&restored).unwrap(),
            "{restored}"
        );
        // Nobody replaced it, so it is not ours to remove.
        let left = new.take(&text, None, &[]).unwrap();
        assert_eq!((left.text, left.stays.len()), (Some(text), 1));
    }
}

#[test]
fn other_keys_of_our_entry_stay_and_those_that_we_no_longer_write_go() {
    let old = one(Part::server(
        &["mcp", "outlive"],
        json!({"command": "/old", "args": ["mcp"], "trust": true}),
    ));
    let new = one(Part::server(
        &["mcp", "outlive"],
        json!({"command": "outlive", "args": ["mcp"]}),
    ));
    let text = r#"{"mcp": {"outlive": {"command": "/old", "args": ["mcp"], "trust": true, "env": {"A": "b"}}}}"#;
    let put: Value = serde_json::from_str(&new.update(text, Some(&old), None).unwrap()).unwrap();
    let expected = json!({"command": "outlive", "args": ["mcp"], "env": {"A": "b"}});
    assert_eq!(put["mcp"]["outlive"], expected);
}

#[test]
fn a_word_that_was_there_before_stays() {
    let piece = one(Part::word(&["permissions", "allow"], "mcp__outlive"));
    for (text, left) in [
        (r#"{"permissions": {"allow": ["mcp__outlive"]}}"#, true),
        (r#"{"permissions": {"allow": ["Bash(ls)"]}}"#, false),
    ] {
        let put = piece.put(text).unwrap();
        // Setup writes the permission no more.
        let without = Piece::Json {
            dialect: Dialect::Strict,
            parts: Vec::new(),
        };
        let updated = without.update(&put, Some(&piece), Some(text)).unwrap();
        assert_eq!(updated.contains("mcp__outlive"), left, "{updated}");
        assert_eq!(put.matches("mcp__outlive").count(), 1, "{put}");
        let taken = taken(&piece, &format!("{put}\n"), Some(text)).unwrap();
        assert_eq!(taken.contains("mcp__outlive"), left, "{taken}");
    }
}

/// Older versions noted in their journal also what the user had written and setup only found there.
#[test]
fn what_was_there_before_and_was_changed_since_stays() {
    let hook = json!({"type": "command", "command": "outlive hook stop --agent codex"});
    let theirs = json!({"type": "command", "command": "mine"});
    let server = json!({"command": "outlive", "args": ["mcp"]});
    let toml = "[mcp_servers.outlive]\ncommand = \"outlive\"\nargs = [\"mcp\"]\nkey = \"1\"\n";
    let entry = r#"{"mcp": {"outlive": {"key": "1", "command": "outlive", "args": ["mcp"]}}}"#;
    let group = json!({"key": "1", "hooks": {"Stop": [{"hooks": [hook.clone(), theirs]}]}});
    for (piece, before) in [
        (
            one(Part::server(&["mcp", "outlive"], server.clone())),
            entry,
        ),
        (Piece::TomlServer(server), toml),
        (
            one(Part::hook(&["hooks", "Stop"], json!({"hooks": [hook]}))),
            &group.to_string(),
        ),
    ] {
        assert_eq!(piece.put(before).unwrap(), before);
        assert_eq!(piece.written(before, &[]).unwrap(), None);
        assert_eq!(
            piece.written(before, &[&piece]).unwrap(),
            Some(piece.clone())
        );
        let now = before.replace("\"1\"", "\"2\"");
        assert_eq!(taken(&piece, &now, Some(before)), Some(now));
    }
}

/// Two agents have the same entry in the same file. It goes with the last one.
#[test]
fn what_another_agent_needs_stays() {
    let piece = one(Part::server(
        &["mcp", "outlive"],
        json!({"command": "outlive"}),
    ));
    let text = piece.put("").unwrap();
    let left = piece.take(&text, None, &[&piece]).unwrap();
    assert_eq!(left.text, Some(text));
}

/// What the repository has for those who plug it in by hand is what setup writes.
#[test]
fn the_plugins_are_what_setup_writes() {
    let places = places();
    let written = |agent, name: &str| -> Value {
        let scope = Scope::Project(PathBuf::from("/p"));
        let mut targets = places
            .targets(Agent::parse(agent).unwrap(), &scope, false)
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

fn run(places: &Places, root: &Path, agents: &[Agent], action: Action) -> usize {
    let scope = Scope::Project(root.to_owned());
    let request = Request {
        agents,
        scope: &scope,
        action,
        answers: BTreeMap::new(),
    };
    let plan = plan(places, &request).unwrap();
    apply(places.store(), &plan).unwrap();
    plan.changes.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    /// Some agents come in any order, each twice, and go in any other; others' files are as they were.
    #[test]
    fn a_project_is_as_it_was(
        (coming, going) in prop::sample::subsequence(Agent::all(), 2..=5)
            .prop_flat_map(|some| (Just(some.clone()).prop_shuffle(), Just(some).prop_shuffle())),
        instructions in prop::option::of("([a-z#\u{e4} ]{0,9}\n?){0,4}"),
        config in prop::option::of("(# [a-z]{1,5}\n|\n){0,3}([a-c] = [0-9]  # x\n)?"),
    ) {
        let root = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        let places = Places::of_user(home.path().to_owned()).unwrap();
        for (name, text) in [("AGENTS.md", &instructions), (".codex/config.toml", &config)] {
            if let Some(text) = text {
                let path = root.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        let before = files(root.path());
        for agent in &coming {
            run(&places, root.path(), &[*agent], Action::Write);
            prop_assert_eq!(run(&places, root.path(), &[*agent], Action::Write), 0);
        }
        for agent in &going {
            run(&places, root.path(), &[*agent], Action::Undo);
        }
        prop_assert_eq!(files(root.path()), before);
    }
}
