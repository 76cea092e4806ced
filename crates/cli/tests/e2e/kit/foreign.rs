//! Entries named `outlive` that a person wrote. They are replaced only if the person says so, and never removed.

use super::{for_user, setup, tree, user, write};
use outlive_testkit::environment::behind;
use outlive_testkit::world::World;
use std::fs;

/// What somebody has written by hand, for each agent.
const WRITTEN: [(&str, &str, &str); 9] = [
    (
        "claude-code",
        ".claude.json",
        "{\"mcpServers\": {\"outlive\": {\"command\": \"my-outlive\", \"args\": [\"mcp\", \"--all-sessions\"]}}}",
    ),
    (
        "claude-code",
        ".claude/settings.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"outlive hook stop\"}]}]}}\n",
    ),
    (
        "claude-code",
        ".claude/CLAUDE.md",
        "Mine.\n\n<!-- outlive:begin claude-code -->\nMy own words.\n<!-- outlive:end -->\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "[mcp_servers.outlive]\ncommand = \"ssh\" # over there\nargs = [\"host\", \"outlive\", \"mcp\"]\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "mcp_servers = { outlive = { url = \"http://127.0.0.1:1/mcp\" } }\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\"mcpServers\": {\"outlive\": {\"httpUrl\": \"http://127.0.0.1:1/mcp\"}}}\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        "{\"mcp\": {\"outlive\": {\"type\": \"remote\", \"url\": \"http://127.0.0.1:1/mcp\"}}}\n",
    ),
    (
        "opencode",
        ".config/opencode/plugins/outlive.js",
        "export const Mine = async () => ({})\n",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"outlive\": \"later\"}}\n",
    ),
];

#[test]
fn what_a_person_wrote_is_not_replaced_unasked() {
    for (agent, path, text) in WRITTEN {
        let world = World::new();
        write(&user(&world).join(path), text);
        let before = tree(&user(&world));
        for options in [&["--yes"][..], &[], &["--yes", "--approve"]] {
            let ran = setup(&world, &[&[agent][..], options].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{path}: {ran:?}");
            assert!(
                ran.stderr.contains(path) && ran.stderr.contains("--replace"),
                "{path}: {ran:?}"
            );
            assert_eq!(tree(&user(&world)), before, "{path}");
        }
    }
}

#[test]
fn what_was_replaced_on_request_is_restored() {
    for (agent, path, text) in WRITTEN {
        let world = World::new();
        let file = user(&world).join(path);
        write(&file, text);
        let before = tree(&user(&world));
        let ran = setup(&world, &[agent, "--yes", "--replace"]);
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
        let written = fs::read_to_string(&file).unwrap();
        assert_ne!(written, text);
        let again = setup(&world, &[agent]);
        assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{again:?}");
        let undone = setup(&world, &[agent, "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert_eq!(tree(&user(&world)), before, "{path}");
    }
}

/// The user goes on writing in the file. The entry that was replaced is restored nevertheless.
#[test]
fn what_was_replaced_is_restored_in_a_file_that_has_changed_since() {
    let world = World::new();
    for (agent, path, text, start, more) in [
        (
            "codex",
            ".codex/config.toml",
            WRITTEN[3].2,
            "",
            "\n[other]\na = 1\n",
        ),
        ("cursor", ".cursor/mcp.json", WRITTEN[8].2, "", "\n\n"),
    ] {
        let file = user(&world).join(path);
        write(&file, text);
        assert_eq!(setup(&world, &[agent, "--yes", "--replace"]).code, 0);
        let written = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{start}{written}{more}")).unwrap();
        let undone = setup(&world, &[agent, "--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        let left = fs::read_to_string(&file).unwrap();
        let kept = text.lines().nth(1).unwrap_or(text).trim_end();
        assert!(
            left.contains(kept.trim_end()) && left.ends_with(more),
            "{path}: {left}"
        );
    }
}

#[test]
fn undo_removes_nothing_that_setup_did_not_write() {
    for (agent, path, text) in WRITTEN {
        let world = World::new();
        write(&user(&world).join(path), text);
        let before = tree(&user(&world));
        for args in [&[agent, "--undo"][..], &["--undo"]] {
            let ran = setup(&world, args);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{path}: {ran:?}");
            assert!(ran.stderr.contains("no record"), "{path}: {ran:?}");
            assert_eq!(tree(&user(&world)), before, "{path}");
        }
    }
}

/// The entry is the very one that setup would write. It is the user's nevertheless.
#[test]
fn an_entry_like_ours_that_a_person_wrote_stays() {
    let world = World::new();
    let file = user(&world).join(".codex/config.toml");
    write(&file, "");
    assert_eq!(setup(&world, &["codex", "--yes"]).code, 0);
    let ours = fs::read_to_string(&file).unwrap();
    let world = World::new();
    let file = user(&world).join(".codex/config.toml");
    write(&file, &ours);
    let before = tree(&user(&world));
    assert_eq!(setup(&world, &["codex", "--undo"]).code, 0);
    assert_eq!(tree(&user(&world)), before, "setup never ran");
    assert_eq!(setup(&world, &["codex", "--yes"]).code, 0);
    assert_eq!(setup(&world, &["codex", "--undo"]).code, 0);
    assert_eq!(tree(&user(&world)), before, "setup found it there");
}

/// At a terminal there is a question of its own, which --yes does not answer.
#[test]
fn a_person_at_a_terminal_is_asked_about_each_entry() {
    for (answer, is_changed) in [("y", true), ("n", false)] {
        let world = World::new();
        let file = user(&world).join(".codex/config.toml");
        write(&file, WRITTEN[3].2);
        let mut inner = world.command(["setup", "codex", "--yes"]);
        for_user(&mut inner, &world);
        let line = format!("printf '{answer}\\n' | script -qec \"$*\" /dev/null");
        let output = behind("sh", ["-c", &line, "sh"], &inner).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("starts \"ssh\""), "{said}");
        assert!(said.contains("Replace them? [y/N]"), "{said}");
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text != WRITTEN[3].2, is_changed, "{answer}: {said}");
    }
}

/// What setup wrote and somebody has changed since is somebody's.
#[test]
fn an_entry_of_ours_that_was_changed_stays_at_undo() {
    let world = World::new();
    assert_eq!(setup(&world, &["codex", "cursor"]).code, 0);
    let file = user(&world).join(".cursor/mcp.json");
    let changed = fs::read_to_string(&file)
        .unwrap()
        .replace("\"outlive\",", "\"mine\",");
    let changed = changed.replace("\"command\": \"outlive\"", "\"command\": \"mine\"");
    fs::write(&file, &changed).unwrap();
    let refused = setup(&world, &["cursor", "--yes"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    let undone = setup(&world, &["--undo"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert!(
        undone.stderr.contains("was changed since setup wrote it"),
        "{undone:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), changed);
    assert!(!user(&world).join(".cursor/hooks.json").exists());
    assert!(!user(&world).join(".codex").exists());
}
