//! Keepers of a job that waits for its lock are killed.

use super::{
    Book, assert_ran_after, assert_waits, errand, errands, holder, locked, waiter,
    waiter_with_hooks,
};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::processes::{is_alive, kill_for_good};
use outlive_testkit::scripts::let_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn the_standby_goes_on_waiting_and_starts_the_job_once() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "echo ran");
    let old = errand(&world, &second);
    kill_for_good(world.pair(&second).keeper);
    until("the standby has taken over", || {
        keepings(&world, &second) == ["launched", "taken_over"]
    });
    until(
        "another one waits",
        || matches!(errands(&world, &second).as_slice(), [new] if *new != old),
    );
    assert_waits(&world, &second, &first);
    let_go(&world);
    assert_ran_after(&world, &second, &first);
    assert_eq!(world.output(&second), b"ran\n");
    world.until_nothing_runs();
}

#[test]
fn a_keeper_without_standby_goes_on_waiting() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "echo ran");
    kill_for_good(world.pair(&second).standby.unwrap());
    assert_waits(&world, &second, &first);
    let_go(&world);
    assert_ran_after(&world, &second, &first);
    assert_eq!(keepings(&world, &second), ["launched"]);
}

#[test]
fn a_waiting_job_that_lost_both_keepers_is_not_started() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "echo ran");
    let third = waiter(&world, &first, &[], "echo ran");
    let waits = errand(&world, &second);
    world.kill_both(&second);
    let job = world.show(&second);
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    let reason = "its keepers were killed while it waited for the lock x";
    assert_eq!(job["outcome"]["reason"], reason);
    until("nobody waits for it", || !is_alive(waits));
    let_go(&world);
    assert_ran_after(&world, &third, &first);
    let fourth = locked(&world, "true");
    assert_ran_after(&world, &fourth, &third);
    assert_eq!(world.output(&second), b"");
}

const STEPS: [&str; 6] = [
    "TurnCame",
    "Forked",
    "Spawned",
    "GateOpened",
    "Executed",
    "LeaderEnded",
];

/// The keeper is killed between getting the lock and the end of the program. The standby takes over, and the program
/// runs once.
#[test]
fn a_keeper_killed_at_any_step_of_its_start_loses_nothing() {
    let name = |step: &&str| (*step).to_owned();
    every(&STEPS, name, |step| {
        let world = World::new();
        let book = Book::new(&world);
        let first = holder(&world);
        let hooks = format!("keeper:{step}=kill");
        let second = waiter_with_hooks(&world, &first, &hooks, &book.note("ran"));
        let_go(&world);
        let third = locked(&world, &book.note("next"));
        let job = world.wait(&second);
        assert_eq!(job["exit_code"], 0, "{job}");
        world.wait(&third);
        assert_eq!(world.events(&second, "started").len(), 1);
        assert_eq!(world.events(&second, "ended").len(), 1);
        assert_eq!(keepings(&world, &second), ["launched", "taken_over"]);
        let mut lines = book.lines();
        lines.sort();
        assert_eq!(lines, ["next", "ran"]);
        world.until_nothing_runs();
    });
}

/// If both keepers are killed, the program ran at most once, and the lock is free.
#[test]
fn killing_both_keepers_at_any_step_of_the_start_frees_the_lock() {
    let name = |step: &&str| (*step).to_owned();
    every(&STEPS, name, |step| {
        let world = World::new();
        let book = Book::new(&world);
        let first = holder(&world);
        let hooks = format!("keeper:{step}=kill-both");
        let second = waiter_with_hooks(&world, &first, &hooks, &book.note("ran"));
        let_go(&world);
        let pair = world.pair(&second);
        until("both are gone", || {
            !is_alive(pair.keeper) && pair.standby.is_some_and(|pid| !is_alive(pid))
        });
        let third = locked(&world, &book.note("next"));
        assert_eq!(world.wait(&third)["exit_code"], 0);
        let job = world.wait(&second);
        let ran = book.lines().iter().filter(|line| *line == "ran").count();
        match (job["outcome"]["kind"].as_str().unwrap(), *step) {
            ("not_started", "TurnCame" | "Forked") => assert_eq!(ran, 0),
            ("lost", "Spawned") => assert_eq!(ran, 0),
            ("lost" | "exited", "GateOpened" | "Executed" | "LeaderEnded") => assert!(ran <= 1),
            _ => panic!("{job}"),
        }
        assert_eq!(world.events(&second, "ended").len(), 1);
        world.until_nothing_runs();
    });
}
