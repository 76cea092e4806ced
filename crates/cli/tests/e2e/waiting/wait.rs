//! `wait`: its exit codes, its time-out, and killed keepers.

use outlive_testkit::checks::{assert_nothing_is_left, every, keepings};
use outlive_testkit::processes::{begin, is_alive, kill_for_good, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, start};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::process::Child;
use std::time::{Duration, Instant};

#[test]
fn wait_ends_with_the_code_of_the_job() {
    const CASES: [(&str, i32); 7] = [
        ("exit 0", 0),
        ("exit 1", 1),
        ("exit 124", 124),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -INT $$", 130),
    ];
    every(
        &CASES,
        |case| case.0.to_owned(),
        |(script, code)| {
            let world = World::new();
            let id = start(&world, &format!("{WAITS} {script}"));
            let wait = begin(world.command(["wait", &id]));
            until_blocked(wait.id() as i32);
            let_go(&world);
            assert_eq!(Ran::end_of(wait).code, *code);
            // Once more, long after the end.
            assert_eq!(world.outlive(&["wait", &id]).code, *code);
        },
    );
}

#[test]
fn wait_for_several_ends_with_the_first_failure_in_the_order_given() {
    let world = World::new();
    for (id, script) in [
        ("good", "exit 0"),
        ("five", "sleep 0.2; exit 5"),
        ("seven", "exit 7"),
    ] {
        world.ok(&["run", "--id", id, "--shell", script]);
    }
    let code = |ids: &[&str]| world.outlive(&[&["wait"], ids].concat()).code;
    assert_eq!(code(&["good", "five", "seven"]), 5);
    assert_eq!(code(&["seven", "good", "five"]), 7);
    assert_eq!(code(&["good", "good"]), 0);
    assert_eq!(code(&["--all", "good", "seven"]), 7);
    let printed = world.outlive(&["wait", "good", "five", "seven", "--json"]);
    let jobs: Value = serde_json::from_str(&printed.stdout).unwrap();
    let codes: Vec<&Value> = jobs["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["exit_code"])
        .collect();
    assert_eq!(codes, [&json!(0), &json!(5), &json!(7)]);
}

#[test]
fn wait_for_all_returns_when_the_last_has_ended() {
    let world = World::new();
    world.ok(&["run", "--id", "quick", "--", "true"]);
    let id = start(&world, &format!("{WAITS} exit 6"));
    let mut wait = begin(world.command(["wait", "quick", &id]));
    until_blocked(wait.id() as i32);
    assert!(wait.try_wait().unwrap().is_none());
    let_go(&world);
    assert_eq!(Ran::end_of(wait).code, 6);
}

#[test]
fn wait_for_any_returns_with_the_first_that_ends_and_leaves_the_others() {
    let world = World::new();
    world.ok(&["run", "--id", "long", "--", "sleep", "60"]);
    let before = world.leader("long");
    let id = start(&world, &format!("{WAITS} exit 6"));
    let wait = begin(world.command(["wait", "--any", "long", &id]));
    until_blocked(wait.id() as i32);
    let_go(&world);
    assert_eq!(Ran::end_of(wait).code, 6);
    let long = world.show("long");
    assert_eq!(long["state"], "running");
    assert_eq!(long["pid"], before);
    assert!(is_alive(before));
}

#[test]
fn wait_that_times_out_exits_124_and_leaves_the_job_alone() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let before = (world.leader(&id), world.journal(&id).len());
    let begun = Instant::now();
    let ran = world.outlive(&["wait", &id, "--timeout", "300ms", "--json"]);
    let took = begun.elapsed();
    assert_eq!(ran.code, 124, "{ran:?}");
    assert!(took >= Duration::from_millis(300), "{took:?}");
    let job = ran.job();
    assert_eq!(job["state"], "running");
    assert_eq!(job["exit_code"], Value::Null);
    assert_eq!((world.leader(&id), world.journal(&id).len()), before);
    assert!(is_alive(before.0));
}

#[test]
fn wait_any_that_times_out_exits_124() {
    let world = World::new();
    world.ok(&["run", "--id", "quick", "--", "true"]);
    world.ok(&["run", "--id", "long", "--", "sleep", "60"]);
    let ran = world.outlive(&["wait", "quick", "long", "--timeout", "100ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(world.show("long")["state"], "running");
    assert_eq!(
        world
            .outlive(&["wait", "--any", "quick", "long", "--timeout", "10s"])
            .code,
        0
    );
}

#[test]
fn wait_without_ids_waits_for_all_running_jobs() {
    let world = World::new();
    assert_eq!(world.outlive(&["wait"]).code, 0);
    world.ok(&["run", "--id", "failed", "--wait", "--shell", "exit 0"]);
    start(&world, &format!("{WAITS} exit 6"));
    start(&world, &format!("{WAITS} exit 0"));
    let wait = begin(world.command(["wait"]));
    until_blocked(wait.id() as i32);
    let_go(&world);
    assert_eq!(Ran::end_of(wait).code, 6);
    assert_eq!(world.outlive(&["wait"]).code, 0);
}

#[test]
fn wait_goes_on_while_keepers_are_killed_and_replaced() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} echo done; exit 7"));
    let wait = begin(world.command(["wait", &id]));
    until_blocked(wait.id() as i32);
    kill_for_good(world.pair(&id).keeper);
    until("the standby took over", || keepings(&world, &id).len() == 2);
    until_blocked(wait.id() as i32);
    // Now only the waiter is left, so it must adopt the job.
    world.kill_both(&id);
    until("the waiting one adopted it", || {
        keepings(&world, &id).len() == 3
    });
    until_blocked(wait.id() as i32);
    let_go(&world);
    assert_eq!(Ran::end_of(wait).code, 7);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over", "adopted"]);
    assert_eq!(world.output(&id), b"done\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn many_waiters_survive_the_death_of_both_keepers_and_adopt_once() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} exit 7"));
    let waits: Vec<Child> = (0..10)
        .map(|_| begin(world.command(["wait", &id])))
        .collect();
    waits
        .iter()
        .for_each(|wait| until_blocked(wait.id() as i32));
    world.kill_both(&id);
    until("one of them adopted it", || {
        keepings(&world, &id).len() == 2
    });
    let_go(&world);
    for wait in waits {
        assert_eq!(Ran::end_of(wait).code, 7);
    }
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn wait_knows_jobs_that_ended_were_adopted_or_lost() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} exit 7"));
    world.kill_both(&id);
    let wait = begin(world.command(["wait", &id]));
    until_blocked(wait.id() as i32);
    let_go(&world);
    assert_eq!(Ran::end_of(wait).code, 7);
    assert_nothing_is_left(&world, &id);
    assert_eq!(world.outlive(&["wait", &id, "--timeout", "0"]).code, 7);
}
