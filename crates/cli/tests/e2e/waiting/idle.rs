//! Waiters and idle keepers sleep; they do not poll.

use outlive_testkit::checks::every;
use outlive_testkit::processes::sleeps_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::trace::{strace, watch_for_two_seconds};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// A traced system call: its name and how long it took.
struct Call {
    name: String,
    seconds: f64,
}

/// Parses the output of `strace -T`.
fn calls(trace: &str) -> Vec<Call> {
    trace
        .lines()
        .filter(|line| line.contains(" = "))
        .map(|line| {
            let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            let seconds = line.rsplit_once('<').map(|(_, time)| time);
            Call {
                name: line.split('(').next().unwrap_or_default().to_owned(),
                seconds: seconds
                    .and_then(|time| time.trim_end_matches('>').parse().ok())
                    .unwrap_or(0.0),
            }
        })
        .collect()
}

#[test]
fn wait_sleeps_once_and_does_not_poll() {
    needs!(Strace);
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "2"]);
    let trace = world.path("trace");
    let wait = world.command(["wait", &id]);
    let ran = Ran::of(&mut strace(&wait, &trace, &["-f", "-T"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let calls = calls(&fs::read_to_string(trace).unwrap());
    let sleeps = |call: &&Call| call.name.contains("nanosleep");
    let polls = |call: &&Call| ["poll", "ppoll"].contains(&call.name.as_str());
    assert_eq!(calls.iter().filter(sleeps).count(), 0);
    // It asks the keeper for news, and then sleeps once.
    let waits: Vec<f64> = calls
        .iter()
        .filter(polls)
        .map(|call| call.seconds)
        .collect();
    let long = waits.iter().filter(|seconds| **seconds > 1.0).count();
    assert_eq!(long, 1, "{waits:?}");
    assert!(waits.len() < 8, "{waits:?}");
    assert!(calls.len() < 400, "{} calls in all", calls.len());
    let after = calls.iter().skip_while(|call| call.seconds < 1.0).count();
    assert!(after < 100, "{after} calls after it was woken");
}

/// Starts a job whose keepers have nothing to do; returns their pids. `sort` says why they have nothing to do.
fn idle(world: &World, sort: &str) -> Vec<i32> {
    let script = match sort {
        "running" | "adopted" => "exec sleep 60",
        _ => "sleep 60 & exit 5",
    };
    world.ok(&["run", "--id", "job", "--timeout", "1h", "--shell", script]);
    if sort.contains("lingering") {
        assert_eq!(world.outlive(&["wait", "job"]).code, 5);
    }
    if sort.contains("adopted") {
        world.kill_both("job");
        world.ok(&["show", "job"]);
    }
    let pair = world.pair("job");
    // After this answer the keeper only has to notice that the client is gone.
    world.ok(&["signal", "job", "CONT"]);
    vec![pair.keeper, pair.standby.unwrap()]
}

#[test]
fn an_idle_pair_makes_no_system_calls() {
    needs!(Strace);
    const SORTS: [&str; 4] = ["running", "lingering", "adopted", "adopted lingering"];
    every(
        &SORTS,
        |sort| (*sort).to_owned(),
        |sort| {
            let world = World::new();
            let both = idle(&world, sort);
            until("both are asleep", || {
                both.iter().all(|pid| sleeps_for_good(*pid))
            });
            let trace = watch_for_two_seconds(&world, &both);
            // Each process was in one call the whole time, which did not return.
            assert_eq!(trace.lines().count(), 2, "{trace}");
            let returned = trace.lines().filter(|line| line.contains(" = ")).count();
            assert_eq!(returned, 0, "{trace}");
            world.ok(&["stop", "job"]);
        },
    );
}
