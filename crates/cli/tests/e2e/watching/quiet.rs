//! `--quiet-after`: a silence is told once, until the job writes again.

use super::{EVERY_MATCH, SESSION, inbox_of, run, world};
use outlive_testkit::checks::{keepings, until_output};
use outlive_testkit::processes::{begin, kill_for_good, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, go, let_go, ok};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::thread;
use std::time::Duration;

fn silences(world: &World, id: &str) -> usize {
    world.events(id, "quiet").len()
}

/// Not a wait: nothing may be told in this time.
fn for_a_while() {
    thread::sleep(Duration::from_millis(700));
}

#[test]
fn each_silence_is_reported_once() {
    let world = World::new();
    let script = format!("echo a; {WAITS} echo b; exec sleep 60");
    let id = run(&world, &["--quiet-after", "200ms"], &script);
    until("the first is told", || silences(&world, &id) == 1);
    for_a_while();
    assert_eq!(silences(&world, &id), 1);
    let_go(&world);
    until("the second is told", || silences(&world, &id) == 2);
    for_a_while();
    assert_eq!(silences(&world, &id), 2);
    let told = inbox_of(&world, "quiet");
    assert_eq!(told.len(), 2);
    assert_eq!(told[0]["data"]["after_ms"], 200);
    assert!(
        told[0]["text"]
            .as_str()
            .unwrap()
            .contains("written nothing for"),
        "{told:?}"
    );
}

#[test]
fn a_job_that_never_writes_is_silent_from_its_start() {
    let world = World::new();
    let id = run(&world, &["--quiet-after", "300ms"], "exec sleep 60");
    until("it is told", || silences(&world, &id) == 1);
    let after = world.boot_ms(&id, "quiet") - world.boot_ms(&id, "started");
    assert!((250..5000).contains(&after), "{after} ms");
}

#[test]
fn a_job_that_writes_is_not_silent() {
    let world = World::new();
    let id = run(
        &world,
        &["--quiet-after", "2s"],
        "for n in {1..30}; do echo $n; sleep 0.1; done",
    );
    world.wait(&id);
    assert_eq!(silences(&world, &id), 0);
}

#[test]
fn a_job_that_waits_for_its_lock_is_not_silent() {
    let world = World::new();
    let first = ok(&world, &["run", "--lock", "l", "--shell", WAITS]);
    let id = run(
        &world,
        &["--lock", "l", "--quiet-after", "400ms"],
        "exec sleep 60",
    );
    for_a_while();
    assert_eq!(silences(&world, &id), 0);
    let_go(&world);
    world.wait(&first);
    until("it is told", || silences(&world, &id) == 1);
    let after = world.boot_ms(&id, "quiet") - world.boot_ms(&id, "started");
    assert!(
        (350..5000).contains(&after),
        "told {after} ms after its start"
    );
}

#[test]
fn wait_can_wait_for_a_silence_that_nobody_was_told_of() {
    let world = World::new();
    let script = format!("{WAITS} echo a; exec sleep 60");
    let id = run(&world, &["--quiet-after", "300ms"], &script);
    let wait = |limit| {
        let args = ["wait", &id, "--for", "quiet", "--timeout", limit];
        world.as_session(SESSION, &args).code
    };
    assert_eq!(wait("10s"), 0);
    assert_eq!(wait("500ms"), 124);
    let mut waiter = world.command(["wait", &id, "--for", "quiet", "--timeout", "10s"]);
    waiter.env("OUTLIVE_SESSION", SESSION);
    let waiter = begin(waiter);
    until_blocked(waiter.id() as i32);
    let_go(&world);
    assert_eq!(Ran::end_of(waiter).code, 0);
    assert_eq!(silences(&world, &id), 2);
    assert_eq!(
        inbox_of(&world, "quiet"),
        [Value::Null; 0],
        "who waited was told"
    );
}

#[test]
fn a_silence_is_told_once_though_its_keepers_die() {
    let world = world(EVERY_MATCH);
    let args = [
        "run",
        "--session",
        SESSION,
        "--quiet-after",
        "300ms",
        "--shell",
    ];
    let script = format!("echo a; {WAITS} echo b; exec sleep 60");
    let mut command = world.command(args.iter().copied().chain([script.as_str()]));
    command
        .env("GO", go(&world))
        .env("OUTLIVE_HOOKS", "keeper:Noticed=kill");
    let id = Ran::of(&mut command).stdout.trim().to_owned();
    // The keeper is killed as soon as the silence is in the journal.
    until("there is an heir", || keepings(&world, &id).len() == 2);
    assert_eq!(silences(&world, &id), 1);
    for_a_while();
    assert_eq!(silences(&world, &id), 1);
    kill_for_good(world.pair(&id).keeper);
    world.show(&id);
    for_a_while();
    assert_eq!((silences(&world, &id), keepings(&world, &id).len()), (1, 3));
    let_go(&world);
    until_output(&world, &id, "a\nb\n");
    until("the next is told", || silences(&world, &id) == 2);
}

#[test]
fn a_silence_begun_under_one_keeper_is_told_by_the_next() {
    let world = World::new();
    let id = run(&world, &["--quiet-after", "600ms"], "echo a; exec sleep 60");
    until_output(&world, &id, "a\n");
    kill_for_good(world.pair(&id).keeper);
    until("it is told", || silences(&world, &id) == 1);
}
