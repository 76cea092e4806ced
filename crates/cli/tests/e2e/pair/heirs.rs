//! A heir finishes what the keeper began.

use crate::checks::{assert_nothing_is_left, every, exited, keepings};
use crate::processes::KILL;
use crate::scripts::{IGNORES, WAITS, let_go, started, with_go};
use crate::world::{Ran, World, kill, until};
use std::process::Child;

#[test]
fn a_heir_keeps_stopping_what_the_keeper_began_to_stop() {
    let world = World::new();
    let script = "trap '' TERM; echo up; while :; do sleep 60; done";
    let id = started(&world, &[], script);
    let mut stop = world.stopping(&[&id], "1s");
    until("the stop is written", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    kill(world.pair(&id).keeper, KILL);
    assert!(stop.wait().unwrap().success());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 137);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    // Asked at the start of its second, it is killed at the end of it and not of a new one.
    let ms = job["duration_ms"].as_u64().unwrap();
    assert!(ms >= 1000, "{ms}");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn many_stoppers_and_a_killed_keeper_make_one_stop_and_one_end() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let stops: Vec<Child> = (0..8).map(|_| world.stopping(&[&id], "300ms")).collect();
    until("a stop is written", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    kill(world.pair(&id).keeper, KILL);
    for mut stop in stops {
        assert_eq!(stop.wait().unwrap().code(), Some(0));
    }
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.show(&id)["exit_code"], 137);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_heir_finishes_an_end_without_any_verb_being_called() {
    let hooks = [
        "LeaderEnded",
        "Drained",
        "OutputSynced",
        "EndedRecorded",
        "Noted",
        "Told",
        "Reaped",
        "Retired",
    ];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let script = format!("{WAITS} echo hello; exit 7");
            let hooks = format!("keeper:{hook}=kill");
            let mut run = with_go(&world, &["run", "--id", "job", "--shell", &script]);
            assert_eq!(Ran::of(run.env("OUTLIVE_HOOKS", hooks)).code, 0);
            let_go(&world);
            assert_nothing_is_left(&world, "job");
            assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
            assert_eq!(world.events("job", "ended").len(), 1);
            assert_eq!(world.events("job", "ended")[0]["outcome"], exited(7));
            assert_eq!(world.output("job"), b"hello\n");
            assert_eq!(world.listed(&[]), ["job"]);
        },
    );
}
