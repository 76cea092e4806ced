//! `wait --for input`.

use super::{PIPE, PTY, assert_awaits, begin_wait, shell, start, until_ready, wait_for_input};
use outlive_testkit::processes::{is_alive, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::process::Child;
use std::time::{Duration, Instant};

#[test]
fn wait_for_input_returns_promptly_once_the_job_waits() {
    for kind in [PIPE, PTY] {
        let world = World::new();
        let id = shell(&world, kind, &format!("{WAITS}echo ready; read x"));
        let waiter = begin_wait(&world, &id);
        assert!(is_alive(waiter.id() as i32));
        let_go(&world);
        until_ready(&world, &id);
        let start = Instant::now();
        assert_eq!(Ran::end_of(waiter).code, 0);
        assert!(
            start.elapsed() < Duration::from_millis(900),
            "{:?}",
            start.elapsed()
        );
    }
}

/// A job may start to wait for input without having written anything.
#[test]
fn wait_for_input_notices_a_job_that_says_nothing() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("{WAITS}read x"));
    let waiter = begin_wait(&world, &id);
    let_go(&world);
    let start = Instant::now();
    assert_eq!(Ran::end_of(waiter).code, 0);
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn wait_for_input_that_times_out_exits_124_and_leaves_the_job_alone() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("{WAITS}read x; exit 5"));
    let before = world.journal(&id).len();
    let ran = world.outlive(&["wait", &id, "--for", "input", "--timeout", "200ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(world.journal(&id).len(), before);
    let_go(&world);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 5);
}

#[test]
fn wait_for_input_fails_if_the_job_ends_first() {
    for (kind, exit, expected) in [(PIPE, 0, 125), (PIPE, 7, 7), (PTY, 0, 125), (PTY, 7, 7)] {
        let world = World::new();
        let id = shell(&world, kind, &format!("{WAITS}exit {exit}"));
        let waiter = begin_wait(&world, &id);
        let_go(&world);
        assert_eq!(Ran::end_of(waiter).code, expected);
        assert_eq!(wait_for_input(&world, &id).code, expected);
        assert_eq!(world.wait(&id)["exit_code"], exit);
    }
}

#[test]
fn wait_for_input_goes_on_while_the_keeper_is_killed_and_replaced() {
    for kind in [PIPE, PTY] {
        let world = World::new();
        let id = shell(&world, kind, &format!("{WAITS}read x; exit 3"));
        let waiter = begin_wait(&world, &id);
        kill_for_good(world.pair(&id).keeper);
        let_go(&world);
        assert_eq!(Ran::end_of(waiter).code, 0);
        let expected = if kind == PIPE { "data" } else { "line" };
        assert_awaits(&world, &id, expected);
        world.ok(&["send", &id, "x", "--enter"]);
        assert_eq!(world.wait(&id)["exit_code"], 3);
    }
}

#[test]
fn the_next_keeper_also_sees_that_the_job_waits() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    kill_for_good(world.pair(&id).keeper);
    assert_awaits(&world, &id, "data");
}

#[test]
fn every_one_of_many_waiters_is_told() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("{WAITS}read x"));
    let waiters: Vec<Child> = (0..8).map(|_| begin_wait(&world, &id)).collect();
    let_go(&world);
    for waiter in waiters {
        assert_eq!(Ran::end_of(waiter).code, 0);
    }
}

fn wait_for(world: &World, how: &str, timeout: &str, ids: &[&str]) -> Ran {
    let args = [
        &[
            "wait",
            "--for",
            "input",
            "--timeout",
            timeout,
            "--json",
            how,
        ],
        ids,
    ];
    world.outlive(&args.concat())
}

#[test]
fn wait_for_input_takes_several_jobs_with_any_or_all() {
    let world = World::new();
    let reads = start(&world, PIPE, &["cat"]);
    let reads_too = start(&world, PIPE, &["cat"]);
    let sleeps = start(&world, PIPE, &["sleep", "60"]);
    assert_awaits(&world, &reads, "data");
    assert_awaits(&world, &reads_too, "data");
    let ran = wait_for(&world, "--any", "10s", &[&sleeps, &reads]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let jobs: Value = serde_json::from_str(&ran.stdout).unwrap();
    let awaiting: Vec<&Value> = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["awaiting_input"])
        .collect();
    assert_eq!(awaiting, [&json!(false), &json!(true)]);
    assert_eq!(
        wait_for(&world, "--all", "300ms", &[&sleeps, &reads]).code,
        124
    );
    assert_eq!(
        wait_for(&world, "--all", "10s", &[&reads, &reads_too]).code,
        0
    );
}

#[test]
fn wait_any_for_input_fails_when_one_job_ends_and_none_waits() {
    let world = World::new();
    let sleeps = start(&world, PIPE, &["sleep", "60"]);
    let ended = start(&world, PIPE, &["true"]);
    assert_eq!(world.wait(&ended)["exit_code"], 0);
    let ran = wait_for(&world, "--any", "300ms", &[&sleeps, &ended]);
    assert_ne!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_wait_for_something_else_does_not_return_for_input() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    let ran = world.outlive(&["wait", &id, "--timeout", "200ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let ran = world.outlive(&["wait", &id, "--for", "nonsense"]);
    assert_eq!(ran.code, 2, "{ran:?}");
}
