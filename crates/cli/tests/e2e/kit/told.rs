//! Hooks tell each event exactly once, also if a hook is killed.

use super::{call, ended_job, hook, is_silent, start};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs;

const SAID: &str = r#"{"session_id":"s"}"#;

fn short_claims(world: &World) {
    claims(world, "300ms");
}

fn claims(world: &World, duration: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(
        world.home().join("config.toml"),
        format!("[inbox]\nclaim = \"{duration}\"\n"),
    )
    .unwrap();
}

#[test]
fn a_hook_killed_before_its_ack_tells_again() {
    for at in ["Claimed", "Delivered"] {
        let world = World::new();
        short_claims(&world);
        let id = ended_job(&world, "s", "true");
        let mut killed = hook(&world, "stop", "codex");
        killed.env("OUTLIVE_HOOKS", format!("consumer:{at}=kill"));
        let ran = Ran::end_of(start(&mut killed, SAID));
        assert_eq!(ran.code, 137, "{ran:?}");
        assert_eq!(ran.stdout.contains(&id), at == "Delivered");
        let mut told =
            Ran::of(&mut world.command(["inbox", "--session", "s", "--wait=20s", "--peek"]));
        assert!(told.stdout.contains(&id), "{told:?}");
        told = call(&world, "stop", "codex", SAID);
        assert!(told.stdout.contains(&id), "{at}: {told:?}");
        assert!(is_silent(&call(&world, "stop", "codex", SAID)), "{at}");
    }
}

#[test]
fn a_hook_killed_after_its_ack_does_not_tell_again() {
    let world = World::new();
    short_claims(&world);
    let id = ended_job(&world, "s", "true");
    let mut killed = hook(&world, "stop", "codex");
    killed.env("OUTLIVE_HOOKS", "consumer:Acked=kill");
    let ran = Ran::end_of(start(&mut killed, SAID));
    assert!(ran.stdout.contains(&id), "{ran:?}");
    let ran = world.outlive(&["inbox", "--session", "s", "--wait=700ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
}

#[test]
fn one_of_many_concurrent_hooks_tells() {
    let world = World::new();
    // Longer than the test needs, so that no claim expires meanwhile.
    claims(&world, "5s");
    let ids: Vec<String> = (0..3).map(|_| ended_job(&world, "s", "true")).collect();
    let hooks: Vec<_> = ["stop", "wait", "post-tool-use", "user-prompt-submit"]
        .iter()
        .cycle()
        .take(12)
        .map(|event| start(&mut hook(&world, event, "claude-code"), SAID))
        .collect();
    let said: Vec<String> = hooks
        .into_iter()
        .map(Ran::end_of)
        .map(|ran| ran.stdout + &ran.stderr)
        .collect();
    let said = said.concat();
    for id in ids {
        let times = said.matches(&format!("[{id}:")).count();
        assert_eq!(times, 1, "{said}");
    }
}

/// If nobody can have read the answer, the event counts as untold.
#[test]
fn an_event_that_could_not_be_printed_is_told_again() {
    let world = World::new();
    short_claims(&world);
    let id = ended_job(&world, "s", "true");
    let mut command = hook(&world, "stop", "codex");
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let ran = Ran::end_of(start(command.stdout(full), SAID));
    assert!(is_silent(&ran), "{ran:?}");
    assert!(super::log(&world).contains("could not be written"));
    world.ok(&["inbox", "--session", "s", "--wait=20s", "--peek"]);
    let ran = call(&world, "stop", "codex", SAID);
    assert!(ran.stdout.contains(&id), "{ran:?}");
}
