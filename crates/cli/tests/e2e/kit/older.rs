//! Setups that an older release made. They have no journal.

use super::{for_user, setup, tree, user, write};
use crate::compat::releases::Release;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs;

/// The agents that every release knows.
const AGENTS: [&str; 5] = ["claude-code", "codex", "gemini", "opencode", "cursor"];

/// Calls `outlive setup` of that release.
fn older_setup(release: &Release, world: &World, args: &[&str]) {
    let outlive = release.outlive.to_str().unwrap();
    let mut command = world.within(outlive, [&["setup"][..], args].concat());
    for_user(&mut command, world).env("PATH", release.outlive.parent().unwrap());
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn give(world: &World) {
    write(&user(world).join(".claude.json"), "{\"a\": 1}\n");
    write(&user(world).join(".codex/config.toml"), "a = 1\n");
    write(&user(world).join(".config/opencode/AGENTS.md"), "Mine.");
    for path in [".claude", ".gemini", ".config/opencode/plugins", ".cursor"] {
        fs::create_dir_all(user(world).join(path)).unwrap();
    }
}

#[test]
fn a_setup_of_an_older_release_is_undone() {
    for release in Release::all() {
        let world = World::new();
        give(&world);
        let before = tree(&user(&world));
        older_setup(&release, &world, &[&AGENTS[..], &["--yes"]].concat());
        let undone = setup(&world, &["--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert_eq!(tree(&user(&world)), before, "{}: {undone:?}", release.name);
    }
}

#[test]
fn a_setup_of_an_older_release_is_updated_unasked_and_undone() {
    for release in Release::all() {
        let world = World::new();
        give(&world);
        let before = tree(&user(&world));
        older_setup(&release, &world, &[&AGENTS[..], &["--yes"]].concat());
        let updated = setup(&world, &AGENTS);
        assert_eq!(updated.code, 0, "{updated:?}");
        let config = fs::read_to_string(user(&world).join(".codex/config.toml")).unwrap();
        assert!(config.contains("env_vars"), "{config}");
        let undone = setup(&world, &["--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert_eq!(tree(&user(&world)), before, "{}: {undone:?}", release.name);
    }
}

/// One hook was changed since. Nobody can tell who wrote the rest.
#[test]
fn a_changed_setup_of_an_older_release_stays() {
    for release in Release::all() {
        let world = World::new();
        older_setup(&release, &world, &["codex", "gemini"]);
        let file = user(&world).join(".codex/hooks.json");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replacen("10", "11", 1)).unwrap();
        let before = tree(&user(&world).join(".codex"));
        let undone = setup(&world, &["--undo"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        assert!(undone.stderr.contains("no record"), "{undone:?}");
        assert_eq!(tree(&user(&world).join(".codex")), before);
        assert!(!user(&world).join(".gemini/GEMINI.md").exists());
    }
}
