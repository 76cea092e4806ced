//! What watching costs: nothing without a watch, and nothing while the job writes nothing.

use super::{EVERY_MATCH, run, world};
use outlive_testkit::checks::until_output;
use outlive_testkit::processes::sleeps_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::trace::{strace, watch_for_two_seconds};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// Checks that keeper and standby make no system calls.
fn assert_sleeps(world: &World, id: &str) {
    let pair = world.pair(id);
    let both = [pair.keeper, pair.standby.unwrap()];
    until("both are asleep", || {
        both.iter().all(|pid| sleeps_for_good(*pid))
    });
    let trace = watch_for_two_seconds(world, &both);
    let returned = trace.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!((trace.lines().count(), returned), (2, 0), "{trace}");
}

#[test]
fn an_idle_watch_makes_no_system_calls() {
    needs!(Strace);
    let world = world(EVERY_MATCH);
    let options = [
        "--watch",
        "x",
        "--watch-not-regex",
        "^y",
        "--ready",
        "line:up",
        "--quiet-after",
        "300ms",
    ];
    let id = run(&world, &options, "echo x; printf begun; exec sleep 60");
    // After this, nothing is due any more: the unfinished line was checked and the silence was told.
    until("the silence is told", || {
        world.events(&id, "quiet").len() == 1
    });
    assert_sleeps(&world, &id);
}

#[test]
fn a_watch_that_is_over_is_not_looked_for_any_more() {
    needs!(Strace);
    let world = world("[watch]\nspacing = \"0ms\"\nstill = \"300ms\"\n");
    let id = run(
        &world,
        &["--watch", "x", "--watch-limit", "1"],
        "echo x; printf begun; exec sleep 60",
    );
    until_output(&world, &id, "x\nbegun");
    until("it is told", || super::matches(&world, &id) == 1);
    assert_sleeps(&world, &id);
}

/// The system calls of a short job with these options, including those of its keepers.
fn calls(world: &World, options: &[&str]) -> Vec<String> {
    let trace = world.path("trace");
    let args = [&["run", "--wait"], options, &["--", "echo", "hello"]].concat();
    let ran = Ran::of(&mut strace(&world.command(args), &trace, &["-f"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    world.until_nothing_runs();
    let text = fs::read_to_string(trace).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_job_without_a_watch_has_no_file_of_matches() {
    needs!(Strace);
    let world = World::new();
    let plain = calls(&world, &[]);
    let of_watch = |calls: &[String]| {
        calls
            .iter()
            .filter(|call| call.contains("/watch\""))
            .count()
    };
    assert_eq!(of_watch(&plain), 0);
    let id = world.listed(&[]).pop().unwrap();
    assert!(!world.job_dir(&id).join("watch").exists());
    assert!(
        of_watch(&calls(&world, &["--watch", "x"])) > 0,
        "it would be seen"
    );
}

/// The memory that only this process uses, in KiB.
fn private_memory(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let field = |name: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    field("Private_Dirty:") + field("Private_Clean:")
}

/// A compiled expression takes megabytes. A job without a watch must not need them.
#[test]
fn only_a_job_with_a_watch_has_an_expression_in_memory() {
    let world = World::new();
    let keeper = |options: &[&str]| {
        let id = run(&world, options, "exec sleep 60");
        world.pair(&id).keeper
    };
    let plain = private_memory(keeper(&[]));
    let large = private_memory(keeper(&["--watch-regex", r"\w{50}x"]));
    assert!(large > plain + 1024, "{plain} and {large} KiB");
    assert!(plain < 2048, "{plain} KiB");
}
