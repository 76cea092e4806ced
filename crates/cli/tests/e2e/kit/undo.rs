//! What `setup --undo` removes, and what it leaves.

use super::{AGENTS, setup, tree, user, write};
use outlive_testkit::world::World;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn directories_that_were_there_before_stay() {
    for agent in AGENTS {
        let world = World::new();
        for path in [
            ".claude",
            ".codex",
            ".gemini",
            ".config/opencode/plugins",
            ".cursor",
        ] {
            fs::create_dir_all(user(&world).join(path)).unwrap();
        }
        let before = tree(&user(&world));
        assert_eq!(setup(&world, &[agent]).code, 0);
        assert_eq!(setup(&world, &[agent, "--undo"]).code, 0);
        assert_eq!(tree(&user(&world)), before, "{agent}");
    }
}

/// A directory that setup made, and that somebody has moved away and linked since.
#[test]
fn undo_follows_no_link_that_was_not_there_at_setup() {
    let world = World::new();
    assert_eq!(setup(&world, &["codex", "gemini"]).code, 0);
    let elsewhere = world.path("dotfiles");
    fs::rename(user(&world).join(".codex"), &elsewhere).unwrap();
    symlink(&elsewhere, user(&world).join(".codex")).unwrap();
    let before = tree(&elsewhere);
    let ran = setup(&world, &["--undo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("leads through a link"), "{ran:?}");
    assert_eq!(tree(&elsewhere), before);
    assert!(user(&world).join(".codex").is_symlink());
    assert!(!user(&world).join(".gemini").exists());
}

#[test]
fn undo_keeps_what_somebody_added_to_a_file_that_setup_made() {
    let world = World::new();
    assert_eq!(setup(&world, &["gemini"]).code, 0);
    let file = user(&world).join(".gemini/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('{', "{\n  \"theme\": \"x\",", 1)).unwrap();
    let ran = setup(&world, &["--undo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let left: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(left, serde_json::json!({"theme": "x"}));
}

/// Two agents share a file of a project. Each is undone alone, in either order.
#[test]
fn agents_that_share_a_file_are_undone_one_by_one() {
    for order in [["codex", "opencode"], ["opencode", "codex"]] {
        let world = World::new();
        let project = world.path("project");
        write(&project.join("AGENTS.md"), "Mine.");
        let before = tree(&project);
        let root = project.to_str().unwrap();
        assert_eq!(
            setup(&world, &["codex", "--project", root, "--yes"]).code,
            0
        );
        let one = tree(&project);
        assert_eq!(
            setup(&world, &["opencode", "--project", root, "--yes"]).code,
            0
        );
        assert_eq!(
            setup(&world, &[order[0], "--undo", "--project", root]).code,
            0
        );
        if order[0] == "opencode" {
            assert_eq!(tree(&project), one);
        }
        assert_eq!(
            setup(&world, &[order[1], "--undo", "--project", root]).code,
            0
        );
        assert_eq!(tree(&project), before);
    }
}

/// The user restored a file by hand and wrote on. A later setup and its undo respect that.
#[test]
fn a_file_that_was_restored_by_hand_is_the_one_to_restore() {
    let world = World::new();
    let file = user(&world).join(".codex/config.toml");
    write(&file, "a = 1\n");
    assert_eq!(setup(&world, &["codex", "--yes"]).code, 0);
    fs::write(&file, "a = 2\n").unwrap();
    assert_eq!(setup(&world, &["codex", "--yes"]).code, 0);
    assert!(fs::read_to_string(&file).unwrap().contains("outlive"));
    assert_eq!(setup(&world, &["codex", "--undo"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "a = 2\n");
}
