//! The connection is cut before each frame and within each frame, in both directions, during each kind of request.
//!
//! Each cut is one blow of the tap; the next connection is whole. A verb that was cut must be carried out as if nothing
//! had happened, because a new connection can be made at once.

use super::{assert_exact, counted, random, starts, tapped, told};
use outlive_testkit::checks::{assert_same_bytes, signaled};
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::tap::{Blow, Direction, Tap, Where};
use serde_json::Value;
use std::panic::{self, AssertUnwindSafe};

/// No verb exchanges more frames than this.
const MOST: usize = 200;

/// Does something under each cut, until a cut comes after all that it sends. `act` gets the number of the round.
#[expect(
    clippy::print_stderr,
    reason = "who looks for the failure needs what had passed"
)]
fn under_each_cut(tap: &Tap, mut act: impl FnMut(usize)) {
    let mut round = 0;
    for direction in Direction::BOTH {
        for nth in 1..MOST {
            let mut struck = true;
            for place in [Where::Before, Where::Within(random(60) as usize)] {
                round += 1;
                tap.passed();
                tap.strike(direction, nth, Blow::Cut(place));
                let done = panic::catch_unwind(AssertUnwindSafe(|| act(round)));
                struck &= tap.disarm();
                if let Err(panic) = done {
                    let passed = tap.passed().join("\n");
                    eprintln!("round {round}: cut {place:?} part {nth} {direction:?}:\n{passed}");
                    panic::resume_unwind(panic);
                }
            }
            if !struck {
                assert!(nth > 1, "nothing was sent {direction:?}");
                break;
            }
            assert!(nth < MOST - 1, "there is no end of frames");
        }
    }
}

#[test]
fn a_launch_that_is_cut_starts_the_job_once() {
    let (tap, world) = tapped();
    let launched = |round: usize| {
        let id = format!("job-{round}");
        let script = counted(&world, &id, "seq 1 200; exit 5");
        let ran = world.outlive(&["run", "--id", &id, "--session", "s", "--shell", &script]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_exact(&world, &id, 5, &numbers(200));
    };
    launched(0);
    under_each_cut(&tap, launched);
    assert!(tap.connections() > 10, "{}", tap.connections());
}

#[test]
fn a_connection_that_is_cut_while_it_is_made_is_made_again() {
    let (tap, world) = tapped();
    let mut round = 0;
    for direction in Direction::BOTH {
        // The shell's script or its answer, the greeting, and what follows it.
        for nth in 1..=4 {
            for place in [Where::Before, Where::Within(random(60) as usize)] {
                round += 1;
                world.kill_couriers();
                tap.passed();
                tap.strike(direction, nth, Blow::Cut(place));
                let id = format!("job-{round}");
                let script = counted(&world, &id, "seq 1 200; exit 5");
                let args = ["run", "--id", &id, "--session", "s", "--shell", &script];
                let ran = world.outlive(&args);
                let passed = tap.passed();
                assert!(tap.disarm(), "{passed:#?}");
                assert_eq!(
                    ran.code, 0,
                    "{place:?} {nth} {direction:?}: {ran:?} {passed:#?}"
                );
                assert_exact(&world, &id, 5, &numbers(200));
            }
        }
    }
}

#[test]
fn what_is_sent_over_a_cut_arrives_once_and_in_order() {
    let (tap, world) = tapped();
    let args = ["run", "--id", "job", "--session", "s", "--stdin", "pipe"];
    let script = counted(&world, "job", "exec cat");
    world.ok(&[&args[..], &["--shell", &script]].concat());
    let mut expected = String::new();
    under_each_cut(&tap, |round| {
        let line = format!("line {round}");
        world.ok(&["send", "job", &line, "--enter"]);
        expected.push_str(&format!("{line}\n"));
    });
    world.ok(&["send", "job", "--eof"]);
    assert_exact(&world, "job", 0, expected.as_bytes());
}

#[test]
fn a_large_input_over_a_cut_arrives_whole() {
    let (tap, world) = tapped();
    let input = numbers(60_000);
    let file = world.path("input");
    std::fs::write(&file, &input).unwrap();
    let mut round = 0;
    // Each piece is a frame or more. The first ones and some of the others are tried.
    for nth in [1, 2, 4, 9] {
        for direction in Direction::BOTH {
            round += 1;
            let id = format!("job-{round}");
            let script = counted(&world, &id, "exec cat");
            let args = ["run", "--id", &id, "--session", "s", "--stdin", "pipe"];
            world.ok(&[&args[..], &["--shell", &script]].concat());
            tap.strike(
                direction,
                nth,
                Blow::Cut(Where::Within(random(60) as usize)),
            );
            let mut send = world.command(["send", &id, "-", "--eof"]);
            let ran = Ran::of(send.stdin(std::fs::File::open(&file).unwrap()));
            tap.disarm();
            assert_eq!(ran.code, 0, "part {nth} {direction:?}: {ran:?}");
            assert_exact(&world, &id, 0, &input);
        }
    }
}

#[test]
fn a_stop_that_is_cut_stops_the_job() {
    let (tap, world) = tapped();
    under_each_cut(&tap, |round| {
        let id = format!("job-{round}");
        tap.unharmed(|| {
            world.ok(&["run", "--id", &id, "--session", "s", "--", "sleep", "60"]);
        });
        let job = world.job(&["stop", &id, "--json"]);
        assert_eq!(job["outcome"], signaled("SIGTERM"), "{job}");
        assert_eq!(job["ended_by"], "stop", "{job}");
        assert_eq!(world.events(&id, "ended").len(), 1);
        // Who stops a job is told by the stop; `s` did not ask for it.
        assert_eq!(told(&world, "s"), [format!("{id} ended")]);
    });
    world.until_nothing_runs();
}

#[test]
fn an_output_that_is_followed_over_a_cut_is_exact() {
    let (tap, world) = tapped();
    let expected = numbers(6_000);
    under_each_cut(&tap, |round| {
        let (id, go) = (format!("job-{round}"), format!("go-{round}"));
        let path = world.path_there(&go);
        let wait = format!("until [ -e '{}' ]; do sleep 0.01; done", path.display());
        let script = counted(&world, &id, &format!("seq 1 3000; {wait}; seq 3001 6000"));
        tap.unharmed(|| {
            world.ok(&["run", "--id", &id, "--session", "s", "--shell", &script]);
        });
        let follow = begin(world.command(["log", &id, "--follow", "--bytes", "0:", "--raw"]));
        world.place().write(&path, b"").unwrap();
        let ran = Ran::end_of(follow);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_same_bytes("what was followed", &ran.bytes, &expected);
        assert_exact(&world, &id, 0, &expected);
    });
}

#[test]
fn an_end_over_a_cut_is_told_once() {
    let (tap, world) = tapped();
    under_each_cut(&tap, |round| {
        let id = format!("job-{round}");
        let go = world.path_there(&format!("go-{round}"));
        let wait = format!("until [ -e '{}' ]; do sleep 0.01; done", go.display());
        let script = counted(&world, &id, &format!("{wait}; exit 5"));
        tap.unharmed(|| {
            world.ok(&["run", "--id", &id, "--session", "s", "--shell", &script]);
        });
        let inbox = ["inbox", "--session", "s", "--json", "--wait=30s"];
        let waiter = begin(world.command(inbox));
        world.place().write(&go, b"").unwrap();
        let ran = Ran::end_of(waiter);
        assert_eq!(ran.code, 0, "{ran:?}");
        let inbox: Value = serde_json::from_slice(&ran.bytes).unwrap();
        let events = inbox["events"].as_array().unwrap();
        assert_eq!(events.len(), 1, "{inbox}");
        assert_eq!(events[0]["job"], *id, "{inbox}");
        assert_eq!(events[0]["data"]["exit_code"], 5, "{inbox}");
        assert_eq!(told(&world, "s"), [""; 0]);
        assert_eq!(starts(&world, &id), 1);
    });
}
