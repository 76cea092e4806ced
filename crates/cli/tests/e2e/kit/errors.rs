//! A hook that fails does not disturb the agent. `hook.log` has the reason.

use super::{call, ended_job, hook, is_silent, log, start};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const SAID: &str = r#"{"session_id":"s"}"#;

/// Checks that the log has one more line, which has this text.
fn logs(world: &World, lines: &mut usize, why: &str) {
    let text = log(world);
    *lines += 1;
    assert_eq!(text.lines().count(), *lines, "{why}: {text}");
    assert!(text.lines().last().unwrap().contains(why), "{why}: {text}");
}

#[test]
fn input_that_is_not_a_hook_call_is_silent_and_logged() {
    let world = World::new();
    let mut lines = 0;
    for (event, agent, said, why) in [
        ("stop", "codex", "", "cannot be read"),
        ("stop", "codex", "not json", "cannot be read"),
        ("stop", "codex", "{\"session_id\":", "cannot be read"),
        ("stop", "codex", "[]", "cannot be read"),
        ("stop", "codex", "{\"session_id\":7}", "cannot be read"),
        ("stop", "codex", "{}", "names a session"),
        (
            "stop",
            "codex",
            "{\"session_id\":\"a\\nb\"}",
            "control character",
        ),
        ("stop", "clippy", SAID, "not an agent"),
        ("pre-compact", "codex", SAID, "no hook is called"),
    ] {
        let ran = call(&world, event, agent, said);
        assert!(is_silent(&ran), "{event} {said}: {ran:?}");
        logs(&world, &mut lines, why);
    }
    for args in [
        &["hook"][..],
        &["hook", "stop", "--new-option"],
        &["hook", "stop", "more"],
    ] {
        let ran = Ran::of(&mut world.command(args));
        assert!(is_silent(&ran), "{args:?}: {ran:?}");
        logs(&world, &mut lines, "error:");
    }
    let mode = fs::metadata(world.home().join("hook.log"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(world.outlive(&["hook", "--help"]).code, 0);
}

#[test]
fn a_panic_is_silent_and_logged() {
    let world = World::new();
    ended_job(&world, "s", "true");
    let mut command = hook(&world, "stop", "claude-code");
    command.env("OUTLIVE_HOOKS", "consumer:Claimed=panic");
    let ran = Ran::end_of(start(&mut command, SAID));
    assert!(is_silent(&ran), "{ran:?}");
    assert!(
        log(&world).contains("a test asked for it"),
        "{}",
        log(&world)
    );
}

#[test]
fn a_home_that_cannot_be_used_is_silent() {
    let world = World::new();
    // A file in the place of the home.
    fs::write(world.home(), "").unwrap();
    for event in ["stop", "wait", "session-start", "nonsense"] {
        let ran = call(&world, event, "claude-code", SAID);
        assert!(is_silent(&ran), "{event}: {ran:?}");
    }
    let mut foreign = world.command(["hook", "stop", "--home", "/proc/1"]);
    assert!(is_silent(&Ran::of(&mut foreign)));
}

#[test]
fn a_damaged_home_is_silent_and_logged() {
    let world = World::new();
    ended_job(&world, "s", "true");
    fs::remove_dir_all(world.home().join("inbox")).unwrap();
    fs::write(world.home().join("inbox"), "").unwrap();
    let mut lines = 0;
    for event in ["stop", "wait"] {
        assert!(
            is_silent(&call(&world, event, "claude-code", SAID)),
            "{event}"
        );
        logs(&world, &mut lines, "inbox");
    }
    fs::write(
        world.home().join("config.toml"),
        "[inbox]\nclaim = \"soon\"\n",
    )
    .unwrap();
    assert!(is_silent(&call(&world, "stop", "claude-code", SAID)));
    logs(&world, &mut lines, "inbox.claim");
    let jobs = world.home().join("config.toml");
    fs::set_permissions(jobs, Permissions::from_mode(0o666)).unwrap();
    assert!(is_silent(&call(&world, "stop", "claude-code", SAID)));
    logs(&world, &mut lines, "config.toml");
}
