//! `setup` changes all files or none, whatever goes wrong and wherever it is killed.

use super::{setup, setup_command, tree, user, write};
use outlive_testkit::environment::behind;
use outlive_testkit::needs;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

/// The steps of `setup::transaction`.
const STEPS: [&str; 5] = [
    "Noted",
    "DirectoriesMade",
    "Staged",
    "Replaced",
    "AllReplaced",
];

fn killed_at(world: &World, step: &str, args: &[&str]) {
    let mut command = setup_command(world, args);
    command.env("OUTLIVE_HOOKS", format!("setup:{step}=kill"));
    let ran = Ran::of(&mut command);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (137, ""),
        "{step}: {ran:?}"
    );
}

#[test]
fn a_killed_setup_is_rolled_back_by_the_next_one() {
    for step in STEPS {
        let world = World::new();
        write(&user(&world).join(".claude/settings.json"), "{\"a\": 1}\n");
        let before = tree(&user(&world));
        killed_at(&world, step, &["claude-code", "opencode", "--yes"]);
        let next = setup(&world, &["--undo"]);
        assert_eq!(next.code, 0, "{step}: {next:?}");
        assert!(next.stderr.contains("interrupted"), "{step}: {next:?}");
        assert_eq!(tree(&user(&world)), before, "{step}");
        let again = setup(&world, &["claude-code", "opencode", "--yes"]);
        assert_eq!(again.code, 0, "{step}: {again:?}");
        assert!(!again.stderr.contains("interrupted"), "{step}: {again:?}");
        assert_eq!(setup(&world, &["--undo"]).code, 0);
        assert_eq!(tree(&user(&world)), before, "{step}");
    }
}

#[test]
fn a_killed_undo_is_rolled_back_and_can_be_repeated() {
    for step in STEPS {
        let world = World::new();
        write(&user(&world).join(".claude/settings.json"), "{\"a\": 1}\n");
        let before = tree(&user(&world));
        assert_eq!(setup(&world, &["claude-code", "codex", "--yes"]).code, 0);
        let after = tree(&user(&world));
        killed_at(&world, step, &["--undo"]);
        let next = setup(&world, &["claude-code", "codex"]);
        assert_eq!(
            (next.code, next.stdout.as_str()),
            (0, ""),
            "{step}: {next:?}"
        );
        assert_eq!(tree(&user(&world)), after, "{step}");
        assert_eq!(setup(&world, &["--undo"]).code, 0);
        assert_eq!(tree(&user(&world)), before, "{step}");
    }
}

/// What only looks says what would be done after the rollback, and changes nothing.
#[test]
fn looking_at_a_killed_setup_changes_nothing() {
    for step in STEPS {
        let world = World::new();
        write(&user(&world).join(".codex/hooks.json"), "{\"a\": 1}\n");
        let looks = [
            &["codex", "--dry-run"][..],
            &["codex", "--dry-run", "--json"],
            &[],
            &["--json"],
            &["--undo", "--dry-run"],
        ];
        let before = looks.map(|args| setup(&world, args));
        killed_at(&world, step, &["codex", "--yes"]);
        let killed = (tree(&user(&world)), tree(&world.home().join("setup")));
        for (args, before) in looks.iter().zip(before) {
            let ran = setup(&world, args);
            assert_eq!(ran.code, 0, "{step} {args:?}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains("interrupted"), "{step} {args:?}: {ran:?}");
            if !args.contains(&"--json") {
                assert_eq!(ran.stdout, before.stdout, "{step} {args:?}");
            }
            let after = (tree(&user(&world)), tree(&world.home().join("setup")));
            assert_eq!(after, killed, "{step} {args:?}");
        }
        // A refusal changes nothing either.
        let refused = setup(&world, &["codex"]);
        assert_eq!(refused.code, 2, "{step}: {refused:?}");
        assert_eq!(tree(&user(&world)), killed.0, "{step}");
    }
}

/// What somebody writes after the kill is kept.
#[test]
fn a_file_that_was_changed_after_the_kill_is_kept() {
    let world = World::new();
    killed_at(&world, "AllReplaced", &["codex"]);
    let file = user(&world).join(".codex/config.toml");
    let text = fs::read_to_string(&file).unwrap() + "mine = 1\n";
    fs::write(&file, &text).unwrap();
    assert_eq!(setup(&world, &["--undo"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert!(!user(&world).join(".codex/AGENTS.md").exists());
}

#[test]
fn a_place_that_cannot_be_written_to_leaves_nothing_half_done() {
    let world = World::new();
    // Nobody can make files there, not even root. `.claude.json` comes first and could be written.
    symlink("/sys/kernel", user(&world).join(".claude")).unwrap();
    let ran = setup(&world, &["claude-code", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(
        ran.stderr.contains("settings.json") && ran.stderr.contains("nothing was changed"),
        "{ran:?}"
    );
    assert!(!user(&world).join(".claude.json").exists());
    let names: Vec<_> = fs::read_dir(user(&world)).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// A container may mount the configuration of an agent read-only.
#[test]
fn a_read_only_mount_leaves_nothing_half_done() {
    needs!(Root);
    for is_undo in [false, true] {
        let world = World::new();
        let held = user(&world).join(".claude");
        fs::create_dir_all(&held).unwrap();
        let mut args = vec!["claude-code", "--yes"];
        if is_undo {
            assert_eq!(setup(&world, &args).code, 0);
            args.push("--undo");
        }
        let before = tree(&user(&world));
        let script =
            "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"";
        let inner = setup_command(&world, &args);
        let outer = ["--mount", "sh", "-c", script, "sh", held.to_str().unwrap()];
        let mut command = behind("unshare", outer, &inner);
        let ran = Ran::of(command.env("PATH", std::env::var_os("PATH").unwrap()));
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
        assert!(
            ran.stderr.contains("Read-only file system")
                && ran.stderr.contains("nothing was changed"),
            "{ran:?}"
        );
        assert_eq!(tree(&user(&world)), before);
        let next = setup(&world, &args);
        assert_eq!(next.code, 0, "{next:?}");
        assert!(!next.stderr.contains("interrupted"), "{next:?}");
    }
}

/// The last file cannot be replaced, which shows only when the others are.
#[test]
fn a_failure_halfway_is_rolled_back() {
    needs!(Root);
    let world = World::new();
    let held = user(&world).join(".claude/CLAUDE.md");
    write(&held, "Mine.\n");
    write(&user(&world).join(".claude.json"), "{\"a\": 1}\n");
    let before = tree(&user(&world));
    // Something is mounted on it, so no other file can take its place.
    let script = "mount --bind \"$1\" \"$1\" && shift && exec \"$@\"";
    let inner = setup_command(&world, &["claude-code", "--yes"]);
    let outer = ["--mount", "sh", "-c", script, "sh", held.to_str().unwrap()];
    let mut command = behind("unshare", outer, &inner);
    let ran = Ran::of(command.env("PATH", std::env::var_os("PATH").unwrap()));
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(
        ran.stderr.contains("CLAUDE.md") && ran.stderr.contains("nothing was changed"),
        "{ran:?}"
    );
    assert_eq!(tree(&user(&world)), before);
    assert_eq!(setup(&world, &["claude-code", "--yes"]).code, 0);
}

#[test]
fn a_read_only_file_is_refused() {
    for option in ["--yes", "--dry-run"] {
        let world = World::new();
        let file = user(&world).join(".codex/hooks.json");
        write(&file, "{}\n");
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        let before = tree(&user(&world));
        let ran = setup(&world, &["codex", option]);
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
        assert!(
            ran.stderr.contains("hooks.json") && ran.stderr.contains("chmod u+w"),
            "{ran:?}"
        );
        assert_eq!(tree(&user(&world)), before);
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    needs!(Root);
    let world = World::new();
    let file = user(&world).join(".gemini/settings.json");
    write(&file, "{}\n");
    chown(&file, Some(4321), None).unwrap();
    let before = tree(&user(&world));
    let ran = setup(&world, &["gemini", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains("another user (number 4321)"), "{ran:?}");
    assert_eq!(tree(&user(&world)), before);
}

/// Without its journal setup could not be undone.
#[test]
fn setup_without_a_place_for_its_journal_changes_nothing() {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::set_permissions(world.home(), Permissions::from_mode(0o700)).unwrap();
    fs::write(world.home().join("setup"), "").unwrap();
    let ran = setup(&world, &["codex"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_eq!(tree(&user(&world)).len(), 0);
}

#[test]
fn a_journal_of_a_newer_version_is_not_touched() {
    let world = World::new();
    assert_eq!(setup(&world, &["codex"]).code, 0);
    let path = world.home().join("setup/journal.json");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "it may hold the secrets of other files"
    );
    fs::write(&path, "{\"format\": 2, \"works\": []}\n").unwrap();
    let after = tree(&user(&world));
    for args in [&["--undo"][..], &["codex"]] {
        let ran = setup(&world, args);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(ran.stderr.contains("newer version"), "{ran:?}");
        assert_eq!(tree(&user(&world)), after);
    }
}
