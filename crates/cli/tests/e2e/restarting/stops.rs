//! A stop ends the job for good, whenever it comes; a timeout ends an attempt.

use super::{codes, runs, start};
use outlive_testkit::checks::{assert_nothing_is_left, signaled};
use outlive_testkit::processes::kill;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

const TERM: i32 = 15;
const SLEEPS: &str = "echo start >> \"$RUNS\"; exec sleep 60";

fn until_run(world: &World, times: usize) {
    until("it runs", || {
        runs(world).len() == times && world.show("job")["state"] == "running"
    });
}

#[test]
fn a_stop_of_a_running_attempt_ends_the_job() {
    let world = World::new();
    start(&world, &["--restart", "always"], SLEEPS);
    until_run(&world, 1);
    world.ok(&["stop", "job"]);
    let job = world.show("job");
    assert_eq!(
        (&job["state"], &job["ended_by"]),
        (&"ended".into(), &"stop".into()),
        "{job}"
    );
    assert_eq!(job["outcome"], signaled("SIGTERM"));
    assert_nothing_is_left(&world, "job");
    assert_eq!(world.events("job", "attempt_ended").len(), 0);
}

#[test]
fn a_stop_between_two_attempts_ends_the_job_as_the_last_one_ended() {
    let world = World::new();
    start(
        &world,
        &["--restart", "on-failure"],
        "echo start >> \"$RUNS\"; exit 6",
    );
    until("it waits", || world.show("job")["state"] == "waiting");
    let attempts = world.show("job")["attempt"].as_u64();
    world.ok(&["stop", "job"]);
    let job = world.show("job");
    assert_eq!(
        (&job["state"], &job["ended_by"]),
        (&"ended".into(), &"stop".into()),
        "{job}"
    );
    assert_eq!(job["exit_code"], 6);
    assert_eq!(job["attempt"].as_u64(), attempts);
    assert_nothing_is_left(&world, "job");
    assert_eq!(runs(&world).len() as u64, attempts.unwrap());
    assert_eq!(world.outlive(&["wait", "job"]).code, 6);
}

#[test]
fn a_timeout_ends_an_attempt_and_the_next_follows() {
    let world = World::new();
    start(
        &world,
        &["--restart", "on-failure:1", "--timeout", "300ms"],
        SLEEPS,
    );
    let job = world.wait("job");
    assert_eq!(job["ended_by"], "timeout");
    let ended = &world.events("job", "attempt_ended")[0]["end"];
    assert_eq!(
        (&ended["ended_by"], &ended["outcome"]),
        (&"timeout".into(), &signaled("SIGTERM"))
    );
    assert_eq!(runs(&world).len(), 2);
}

#[test]
fn a_stop_while_a_timeout_ends_an_attempt_ends_the_job() {
    let world = World::new();
    let stubborn = "trap '' TERM; echo start >> \"$RUNS\"; while :; do sleep 1; done";
    let options = [
        "--restart",
        "always",
        "--timeout",
        "200ms",
        "--grace",
        "30s",
    ];
    start(&world, &options, stubborn);
    until("the timeout has begun", || {
        world.show("job")["state"] == "stopping"
    });
    world.ok(&["stop", "job", "--grace", "0"]);
    let job = world.show("job");
    assert_eq!(
        (&job["state"], &job["ended_by"]),
        (&"ended".into(), &"stop".into()),
        "{job}"
    );
    assert_nothing_is_left(&world, "job");
    assert_eq!(runs(&world).len(), 1);
}

/// A process that somebody kills has failed, and only `stop` says that no other is wanted.
#[test]
fn a_killed_attempt_is_followed_by_another() {
    let world = World::new();
    start(&world, &["--restart", "on-failure"], SLEEPS);
    until_run(&world, 1);
    world.ok(&["signal", "job", "KILL"]);
    until_run(&world, 2);
    kill(world.leader("job"), TERM);
    until_run(&world, 3);
    world.ok(&["stop", "job"]);
    assert_eq!(codes(&world.show("job")), [Some(137), Some(143), Some(143)]);
}

#[test]
fn the_foreground_runs_all_attempts_and_ends_with_the_last_code() {
    let world = World::new();
    let script = "echo start >> \"$RUNS\"; n=$(wc -l < \"$RUNS\"); echo try $n; exit $n";
    let args = [
        "run",
        "--id",
        "job",
        "--foreground",
        "--restart",
        "on-failure:1",
        "--shell",
        script,
    ];
    let mut command = world.command(args);
    let ran = outlive_testkit::ran::Ran::of(command.env("RUNS", world.path("runs")));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (2, "try 1\ntry 2\n"),
        "{ran:?}"
    );
}

#[test]
fn a_signal_to_the_foreground_between_two_attempts_ends_the_job() {
    let world = World::new();
    let args = [
        "run",
        "--id",
        "job",
        "--foreground",
        "--restart",
        "always",
        "--shell",
        "exit 5",
    ];
    let child = world.begin(&args);
    until("it waits", || {
        let shown = world.outlive(&["show", "job", "--json"]);
        shown.stdout.contains("\"state\":\"waiting\"")
    });
    kill(child.id() as i32, TERM);
    let ran = outlive_testkit::ran::Ran::end_of(child);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert_eq!(world.show("job")["ended_by"], "place");
    assert_nothing_is_left(&world, "job");
}
