//! What the user has written and setup therefore did not: entries and hooks like ours. They stay as they are, also if
//! the user changes them after setup.

use super::{setup, tree, user, write};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// What setup writes into a file of this agent that does not exist yet.
fn written(agent: &str, path: &str) -> String {
    let world = World::new();
    assert_eq!(setup(&world, &[agent]).code, 0);
    fs::read_to_string(user(&world).join(path)).unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Our MCP entry, with a variable of the user in it.
const ENTRIES: [(&str, &str, &str, &str); 4] = [
    (
        "claude-code",
        ".claude.json",
        "\"command\"",
        "\"env\":   {\"K\": \"1\"},\n      \"command\"",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "\"command\"",
        "\"env\":   {\"K\": \"1\"},\n      \"command\"",
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        "\"command\"",
        "\"environment\":   {\"K\": \"1\"},\n      \"command\"",
    ),
    (
        "codex",
        ".codex/config.toml",
        "command = ",
        "env = { K =   \"1\" }\ncommand = ",
    ),
];

#[test]
fn an_entry_that_a_person_wrote_and_changed_after_setup_stays() {
    for (agent, path, ours, theirs) in ENTRIES {
        let world = World::new();
        let file = user(&world).join(path);
        let own = written(agent, path).replacen(ours, theirs, 1);
        assert!(own.contains("K"), "{own}");
        write(&file, &own);
        assert_eq!(setup(&world, &[agent, "--yes"]).code, 0, "{path}");
        let after = read(&file);
        let changed = after.replacen("\"1\"", "\"2\"", 1);
        assert_ne!(changed, after, "{path}: {after}");
        fs::write(&file, &changed).unwrap();
        let again = setup(&world, &[agent, "--yes"]);
        assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{again:?}");
        let undone = setup(&world, &[agent, "--undo"]);
        assert_eq!(undone.code, 0, "{path}: {undone:?}");
        assert_eq!(read(&file), own.replacen("\"1\"", "\"2\"", 1), "{path}");
        assert_eq!(
            tree(&user(&world))
                .values()
                .filter(|text| !text.is_empty())
                .count(),
            1
        );
    }
}

/// After setup, the entry is still not ours to update.
#[test]
fn an_entry_that_a_person_wrote_is_not_noted_as_ours() {
    let world = World::new();
    let file = user(&world).join(".cursor/mcp.json");
    write(&file, &written("cursor", ".cursor/mcp.json"));
    assert_eq!(setup(&world, &["cursor", "--yes"]).code, 0);
    let journal = read(&world.home().join("setup/journal.json"));
    assert!(
        !journal.contains("mcp.json") && journal.contains("hooks.json"),
        "{journal}"
    );
    let theirs = read(&file).replace("\"command\": \"outlive\"", "\"command\": \"mine\"");
    assert_ne!(theirs, read(&file));
    fs::write(&file, &theirs).unwrap();
    let refused = setup(&world, &["cursor", "--yes"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--replace"), "{refused:?}");
    assert_eq!(read(&file), theirs);
}

/// In a group with a hook of the user, and in a group alone.
#[test]
fn a_hook_that_a_person_wrote_stays() {
    let ours: Value = serde_json::from_str(&written("codex", ".codex/hooks.json")).unwrap();
    let hook = ours["hooks"]["Stop"][0]["hooks"][0].clone();
    assert!(
        hook["command"]
            .as_str()
            .unwrap()
            .contains("outlive hook stop")
    );
    let mine = json!({"type": "command", "command": "mine"});
    for group in [json!([mine, hook]), json!([hook, mine]), json!([hook])] {
        let world = World::new();
        let file = user(&world).join(".codex/hooks.json");
        let mut own = json!({"hooks": {"Stop": [{"hooks": group}]}, "a": 1});
        write(&file, &own.to_string());
        assert_eq!(setup(&world, &["codex", "--yes"]).code, 0);
        assert!(read(&file).contains("session-start"), "{}", read(&file));
        fs::write(&file, read(&file).replace("\"a\":1", "\"a\":2")).unwrap();
        let undone = setup(&world, &["codex", "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        let left: Value = serde_json::from_str(&read(&file)).unwrap();
        own["a"] = json!(2);
        assert_eq!(left, own);
    }
}

/// What `--replace` replaced comes back with its layout, in a file that has changed since.
#[test]
fn what_was_replaced_is_restored_with_its_layout() {
    for (agent, path, theirs, text) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{ \"zeta\":1,\n\n  \"command\" : \"mine\",\t\"args\": [ \"b\",\"a\" ] }",
            "{\"mcpServers\": {\"outlive\": THEIRS, \"other\": {}}}\n",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            "{ \"matcher\" : \"*\",\n \"hooks\": [ {\"type\":\"command\",   \"command\": \"outlive hook stop --mine\"} ] }",
            "{\"hooks\": {\"Stop\": [THEIRS, {\"hooks\": []}]}}\n",
        ),
    ] {
        let world = World::new();
        let file = user(&world).join(path);
        let text = text.replace("THEIRS", theirs);
        write(&file, &text);
        let ran = setup(&world, &[agent, "--yes", "--replace"]);
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
        assert!(!read(&file).contains(theirs), "{path}: {}", read(&file));
        fs::write(&file, format!("{}\n\n", read(&file))).unwrap();
        let undone = setup(&world, &[agent, "--undo"]);
        assert_eq!(undone.code, 0, "{path}: {undone:?}");
        assert_eq!(read(&file), format!("{text}\n\n"), "{path}");
    }
}
