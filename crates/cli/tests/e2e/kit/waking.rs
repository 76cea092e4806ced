//! `hook wait` runs beside an idle agent and ends when there is news.

use super::{call, ended_job, hook, is_silent, start};
use outlive_testkit::processes::{begin, is_alive, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

const SAID: &str = r#"{"session_id":"s"}"#;

/// Waits until this many processes wait for the inbox.
fn until_waiting(world: &World, count: usize) {
    let bells = || match fs::read_dir(world.home().join("inbox/s")) {
        Ok(entries) => entries
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(".bell-"))
            .count(),
        Err(_) => 0,
    };
    until("they wait", || bells() == count);
}

#[test]
fn an_idle_agent_is_woken_once() {
    let world = World::new();
    let gate = world.path("gate");
    let script = format!(
        "until test -e {}; do sleep 0.02; done; exit 5",
        gate.display()
    );
    let id = world.ok(&["run", "--session", "s", "--shell", &script]);
    let waiting = start(&mut hook(&world, "wait", "claude-code"), SAID);
    until_waiting(&world, 1);
    // At the end of the next turn another one waits, and this one ends.
    let next = start(&mut hook(&world, "wait", "claude-code"), SAID);
    assert!(is_silent(&Ran::end_of(waiting)));
    let waiting = next;
    until_waiting(&world, 1);
    fs::write(gate, "").unwrap();
    let ran = Ran::end_of(waiting);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(
        ran.stderr.contains(&id) && ran.stderr.contains("exit code 5"),
        "{ran:?}"
    );
    assert!(is_silent(&call(&world, "stop", "claude-code", SAID)));
}

/// An agent that waits for the job in its shell learns the end there. The hook does not tell it too.
#[test]
fn the_waking_hook_does_not_tell_what_the_agent_waits_for() {
    for round in 0..6 {
        let world = World::new();
        let gate = outlive_testkit::gate::Gate::new(&world);
        let id = world.ok(&["run", "--session", "s", "--shell", &gate.then("exit 5")]);
        let hook = start(&mut hook(&world, "wait", "claude-code"), SAID);
        until_waiting(&world, 1);
        let mut wait = world.command(["wait", &id]);
        wait.env("OUTLIVE_SESSION", "s");
        let wait = begin(wait);
        until_blocked(wait.id() as i32);
        gate.open();
        assert_eq!(Ran::end_of(wait).code, 5, "{round}");
        let ran = Ran::end_of(hook);
        assert!(is_silent(&ran), "{round}: {ran:?}");
    }
}

#[test]
fn the_waking_hook_ends_if_there_is_nothing_to_wait_for() {
    let world = World::new();
    assert!(is_silent(&call(&world, "wait", "claude-code", SAID)));
    let id = ended_job(&world, "s", "true");
    let ran = call(&world, "wait", "claude-code", SAID);
    assert!(ran.code == 2 && ran.stderr.contains(&id), "{ran:?}");
    assert!(is_silent(&call(&world, "wait", "claude-code", SAID)));
    assert!(!world.home().join("hook.log").exists());
}

/// If the agent is gone, the waiter must end without taking the news.
#[test]
fn the_waking_hook_ends_with_the_agent() {
    let world = World::new();
    world.ok(&["run", "--session", "s", "--", "sleep", "1000"]);
    let mut waiting = start(&mut hook(&world, "wait", "claude-code"), SAID);
    until_waiting(&world, 1);
    let pid = waiting.id() as i32;
    assert!(is_alive(pid));
    drop(waiting.stderr.take());
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    assert_eq!(super::log(&world), "");
}
