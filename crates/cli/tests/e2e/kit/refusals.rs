//! What `setup` refuses, and what it does not touch.

use super::{setup, tree, user, write};
use outlive_testkit::environment::behind;
use outlive_testkit::world::World;
use std::fs;

#[test]
fn setup_without_a_terminal_asks_for_yes() {
    let world = World::new();
    let path = user(&world).join(".codex/config.toml");
    write(&path, "model = \"x\"\n");
    let before = tree(&user(&world));
    let ran = setup(&world, &["codex"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(
        ran.stderr.contains("config.toml") && ran.stderr.contains("--yes"),
        "{ran:?}"
    );
    assert_eq!(tree(&user(&world)), before, "not even what is new");
}

#[test]
fn setup_writes_nothing_if_one_file_does_not_parse() {
    for (agent, path, text, line) in [
        (
            "claude-code",
            ".claude/settings.json",
            "{\n  \"a\": 1,\n}\n",
            3,
        ),
        ("claude-code", ".claude.json", "{\n // no\n}", 2),
        ("codex", ".codex/config.toml", "a = 1\nb =\n", 2),
        ("codex", ".codex/hooks.json", "[\n", 2),
        ("gemini", ".gemini/settings.json", "{\"a\" 1}", 1),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"mcp\":\n[]}",
            2,
        ),
        ("cursor", ".cursor/mcp.json", "{\n\n\"mcpServers\": {}}}", 3),
    ] {
        for action in ["--yes", "--dry-run", "--undo"] {
            let world = World::new();
            if action == "--undo" {
                assert_eq!(setup(&world, &[agent]).code, 0);
            }
            write(&user(&world).join(path), text);
            let before = tree(&user(&world));
            let ran = setup(&world, &[agent, action]);
            // This file has a list in the place of our table, so there is nothing to undo.
            if action == "--undo" && agent == "opencode" {
                continue;
            }
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (125, ""),
                "{path} {action}: {ran:?}"
            );
            assert!(
                ran.stderr.contains(&format!("{path}:{line}: ")),
                "{path}: {ran:?}"
            );
            assert_eq!(tree(&user(&world)), before);
        }
    }
}

/// A file of an agent that setup never wrote to does not keep the others from being undone.
#[test]
fn undo_does_not_fail_on_a_file_of_another_agent() {
    let world = World::new();
    let before = tree(&user(&world));
    assert_eq!(setup(&world, &["codex"]).code, 0);
    write(&user(&world).join(".gemini/settings.json"), "{\"a\" 1}");
    let ran = setup(&world, &["--undo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    fs::remove_dir_all(user(&world).join(".gemini")).unwrap();
    assert_eq!(tree(&user(&world)), before);
}

#[test]
fn setup_does_not_touch_what_is_not_a_text_file() {
    let world = World::new();
    let path = user(&world).join(".codex/AGENTS.md");
    write(&path, "");
    fs::write(&path, b"\xff\xfe").unwrap();
    let ran = setup(&world, &["codex", "--yes"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("not UTF-8"), "{ran:?}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let ran = setup(&world, &["codex", "--yes"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(!user(&world).join(".codex/config.toml").exists());
}

#[test]
fn an_unknown_agent_or_project_is_wrong_usage() {
    let world = World::new();
    let ran = setup(&world, &["clippy"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr
            .contains("claude-code, codex, gemini, opencode, cursor"),
        "{ran:?}"
    );
    let ran = setup(&world, &["codex", "--project", "/nowhere/at/all"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

/// At a terminal, `setup` asks, and the person may say no.
#[test]
fn setup_asks_a_person_at_a_terminal() {
    for (answer, is_changed) in [("y", true), ("n", false), ("", false)] {
        let world = World::new();
        let path = user(&world).join(".codex/config.toml");
        write(&path, "model = \"x\"\n");
        let mut inner = world.command(["setup", "codex"]);
        inner.env("HOME", user(&world)).env_remove("CODEX_HOME");
        let line = format!("printf '{answer}\\n' | script -qec \"$*\" /dev/null");
        let mut outer = behind("sh", ["-c", &line, "sh"], &inner);
        let output = outer.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Change them? [y/N]"), "{said}");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("outlive"), is_changed, "{answer}: {said}");
    }
}
