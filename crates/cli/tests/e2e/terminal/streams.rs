//! The keeper or its standby of a job on a terminal is killed during fast output.

use super::as_shown;
use crate::pair::{places_in_the_stream, stream_to};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, every, keepings};
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::scripts::{go, numbers, on_terminal};
use outlive_testkit::world::World;
use std::fs;

/// Starts a job that writes `numbers(100_000)` once `$GO` is there, and ends once `$GO.end` is.
fn start_stream(world: &World) -> String {
    let wait_for = |file: &str| format!("until [ -e \"{file}\" ]; do sleep 0.02; done");
    let (begin, end) = (wait_for("$GO"), wait_for("$GO.end"));
    on_terminal(world, &format!("{begin}; seq 1 100000; {end}; exit 7"))
}

fn places(count: usize) -> Vec<u64> {
    const LENGTH: u64 = 688_895;
    let places = places_in_the_stream(count).into_iter();
    places.map(|place| place % LENGTH).collect()
}

fn assert_whole_stream(world: &World, id: &str) {
    fs::write(go(world).with_extension("end"), "").unwrap();
    assert_eq!(world.wait(id)["exit_code"], 7);
    let expected = as_shown(&numbers(100_000));
    assert_same_bytes("output", &world.output(id), &expected);
    assert_nothing_is_left(world, id);
}

#[test]
fn a_keeper_killed_at_any_moment_of_a_fast_stream_on_a_terminal_loses_nothing() {
    every(
        &places(15),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            let keeper = world.pair(&id).keeper;
            stream_to(&world, &id, *at);
            kill(keeper, KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
        },
    );
}

#[test]
fn a_standby_killed_in_a_fast_stream_on_a_terminal_changes_nothing() {
    every(
        &places(4),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            stream_to(&world, &id, *at);
            kill(world.pair(&id).standby.unwrap(), KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched"]);
        },
    );
}
