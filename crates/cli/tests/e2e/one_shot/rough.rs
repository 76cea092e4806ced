//! What services and harnesses do to commands and their texts: no job is started twice, and no byte is lost or doubled.

use super::{assert_exact, start, until_nothing_runs_there, with};
use outlive_testkit::checks::every;
use outlive_testkit::places::one_shot::Ways;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use std::fs;
use std::time::{Duration, Instant};

/// A job that is started, written to, read and waited for.
fn exact_with(ways: &Ways) {
    let (_place, world) = with(ways.clone());
    start(
        &world,
        "job",
        "cat; seq 1 4000; printf '\\377\\376\\n'; exit 7",
    );
    world.ok(&["send", "job", "one", "--enter"]);
    world.ok(&["send", "job", "two", "--enter", "--eof"]);
    let output = [b"one\ntwo\n".as_slice(), &numbers(4000), b"\xff\xfe\n"].concat();
    assert_exact(&world, "job", 7, &output);
    until_nothing_runs_there(&world);
}

#[test]
fn calls_may_be_lost_executed_twice_or_refused() {
    let cells: Vec<Ways> = (1..=4)
        .map(|seed| Ways::of(&format!("lose=15 twice=20 break=10 seed={seed}")))
        .collect();
    every(&cells, |ways| format!("{ways:?}"), exact_with);
}

#[test]
fn all_of_that_may_happen_to_noisy_and_damaged_texts() {
    exact_with(&Ways::of(
        "noise=1 merge=1 ascii=1 cut=16384 lose=10 twice=10 break=5 seed=7",
    ));
}

#[test]
fn answers_that_are_cut_are_asked_for_in_smaller_pieces() {
    for cut in ["cut=30000 noise=1", "cut=3000"] {
        exact_with(&Ways::of(cut));
    }
}

/// Half of the usual patience would be longer than that.
#[test]
fn commands_may_be_ended_before_there_is_news() {
    let (place, world) = with(Ways::of("limit=1"));
    let go = world.path_there("go");
    let wait = format!("until [ -e '{}' ]; do sleep 0.05; done", go.display());
    start(&world, "job", &format!("{wait}; exit 7"));
    let waiter = begin(world.command(["wait", "job"]));
    let scratch = world.path_there("");
    let begun = Instant::now();
    // The first calls that wait are ended. Then they wait for a shorter time, and none fails.
    while begun.elapsed() < Duration::from_secs(4) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(world.show("job")["state"], "running");
    let calls = place.calls(&scratch);
    world.place().write(&go, b"").unwrap();
    assert_eq!(Ran::end_of(waiter).code, 7);
    assert!(calls < 30, "{calls} calls in 4 s");
    assert_exact(&world, "job", 7, b"");
}

#[test]
fn a_large_input_arrives_whole() {
    let (_place, world) = with(Ways::of("lose=10 seed=3"));
    start(&world, "job", "cat");
    let input = numbers(60_000);
    let file = world.path("input");
    fs::write(&file, &input).unwrap();
    let mut send = world.command(["send", "job", "-", "--eof"]);
    let ran = Ran::of(send.stdin(fs::File::open(&file).unwrap()));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_exact(&world, "job", 0, &input);
}
