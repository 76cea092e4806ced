//! A session is told that its job waits for input.

use super::{SESSION, inbox_of, run};
use outlive_testkit::checks::{keepings, until_wrote};
use outlive_testkit::processes::{kill_for_good, sleeps_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, go, let_go};
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::thread;
use std::time::Duration;

const PIPE: &[&str] = &["--stdin", "pipe"];
const PTY: &[&str] = &["--pty"];

fn prompts(world: &World, id: &str) -> usize {
    world.events(id, "awaiting_input").len()
}

/// Not a wait: nothing may be told in this time. The keeper looks for a prompt 0.3 and 1 second after the job was last
/// active.
fn for_a_while() {
    thread::sleep(Duration::from_millis(1500));
}

#[test]
fn a_prompt_of_a_terminal_job_is_told_once() {
    let world = World::new();
    let id = run(&world, PTY, "read -p 'Name? ' name; exec sleep 60");
    until("it is told", || prompts(&world, &id) == 1);
    for_a_while();
    let told = inbox_of(&world, "awaiting_input");
    assert_eq!(
        (told.len(), told[0]["job"].as_str()),
        (1, Some(id.as_str()))
    );
    assert_eq!(told[0]["data"]["input_kind"], "line");
    let text = told[0]["text"].as_str().unwrap();
    assert!(
        text.contains("Name?") && text.contains(&format!("outlive send {id}")),
        "{text}"
    );
}

#[test]
fn a_password_is_asked_for_by_that_name() {
    let world = World::new();
    let id = run(&world, PTY, "read -s -p 'Password: ' word; exec sleep 60");
    until("it is told", || prompts(&world, &id) == 1);
    assert_eq!(
        inbox_of(&world, "awaiting_input")[0]["data"]["input_kind"],
        "password"
    );
}

#[test]
fn a_prompt_of_a_pipe_job_is_told_once() {
    let world = World::new();
    let id = run(&world, PIPE, "echo question; read -r line; exec sleep 60");
    until("it is told", || prompts(&world, &id) == 1);
    for_a_while();
    assert_eq!(prompts(&world, &id), 1);
    assert_eq!(
        inbox_of(&world, "awaiting_input")[0]["data"]["input_kind"],
        "data"
    );
}

/// A second question is a second prompt.
#[test]
fn the_next_prompt_is_told_too() {
    let world = World::new();
    // The job asks again without having got input.
    let script = format!("timeout 1.2 bash -c 'read -r line'; {WAITS} echo again; read -r line");
    let id = run(&world, PIPE, &script);
    until("the first is told", || prompts(&world, &id) == 1);
    let_go(&world);
    until("the second is told", || prompts(&world, &id) == 2);
    for_a_while();
    assert_eq!(prompts(&world, &id), 2);
}

#[test]
fn a_session_that_sends_input_is_not_told_of_the_prompt() {
    let world = World::new();
    let id = run(&world, PIPE, "while read -r line; do echo got $line; done");
    // The first line may come before or after the prompt is told. After that the session is sending input.
    for n in 1..=3 {
        world.ok(&["send", &id, &n.to_string(), "--enter"]);
        until_wrote(&world, &id, &format!("got {n}"));
    }
    let before = prompts(&world, &id);
    for_a_while();
    assert_eq!(prompts(&world, &id), before);
    assert!(before <= 1);
}

#[test]
fn a_job_without_a_session_is_not_checked_for_prompts() {
    let world = World::new();
    for kind in [PIPE, PTY] {
        let id = world.ok(&[&["run"], kind, &["--", "cat"]].concat());
        for_a_while();
        assert_eq!(prompts(&world, &id), 0);
        assert!(!world.job_dir(&id).join("watch").exists());
    }
}

#[test]
fn a_job_that_does_not_wait_for_input_tells_nothing() {
    let world = World::new();
    let id = run(&world, PIPE, "exec sleep 60");
    for_a_while();
    assert_eq!(prompts(&world, &id), 0);
}

#[test]
fn a_prompt_is_told_once_though_its_keepers_die() {
    let world = World::new();
    let args = [
        "run",
        "--session",
        SESSION,
        "--stdin",
        "pipe",
        "--shell",
        "read -r line; exec sleep 60",
    ];
    let mut command = world.command(args);
    command
        .env("GO", go(&world))
        .env("OUTLIVE_HOOKS", "keeper:Noticed=kill");
    let id = Ran::of(&mut command).stdout.trim().to_owned();
    until("there is an heir", || keepings(&world, &id).len() == 2);
    assert_eq!(prompts(&world, &id), 1);
    for_a_while();
    assert_eq!(prompts(&world, &id), 1);
}

#[test]
fn the_next_keeper_tells_a_prompt_that_the_first_did_not() {
    let world = World::new();
    let id = run(&world, PIPE, "read -r line; exec sleep 60");
    kill_for_good(world.pair(&id).keeper);
    until("it is told", || prompts(&world, &id) == 1);
}

#[test]
fn once_a_prompt_is_told_the_keepers_sleep() {
    needs!(Strace);
    let world = World::new();
    for kind in [PIPE, PTY] {
        let id = run(&world, kind, "read -r line");
        until("it is told", || prompts(&world, &id) == 1);
        let pair = world.pair(&id);
        let both = [pair.keeper, pair.standby.unwrap()];
        until("both are asleep", || {
            both.iter().all(|pid| sleeps_for_good(*pid))
        });
        let trace = watch_for_two_seconds(&world, &both);
        let returned = trace.lines().filter(|line| line.contains(" = ")).count();
        assert_eq!(
            (trace.lines().count(), returned),
            (2, 0),
            "{kind:?}: {trace}"
        );
    }
}
