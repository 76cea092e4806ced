//! What an attempt is: its number, its outcome, its output, the pause after it, and what its session is told.

use super::{codes, runs, start};
use outlive_testkit::checks::assert_nothing_is_left;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

/// Fails with 1, then with 2, then succeeds.
const THIRD_TIME: &str =
    "echo start >> \"$RUNS\"; n=$(wc -l < \"$RUNS\"); echo \"try $n\"; [ $n = 3 ] || exit $n";

#[test]
fn a_failing_command_is_run_again_until_it_succeeds() {
    let world = World::new();
    start(&world, &["--restart", "on-failure"], THIRD_TIME);
    let ended = world.wait("job");
    assert_eq!(ended["exit_code"], 0, "{ended}");
    let job = world.show("job");
    assert_eq!(codes(&job), [Some(1), Some(2), Some(0)]);
    assert_eq!(
        (&job["attempt"], &job["restart"]),
        (&3.into(), &"on-failure".into())
    );
    for (number, text) in [("1", "try 1\n"), ("2", "try 2\n"), ("3", "try 3\n")] {
        assert_eq!(world.ok(&["log", "job", "--attempt", number]) + "\n", text);
    }
    // One pause of a second and one of two.
    let pauses = pauses(&world);
    assert_eq!(pauses, [1000, 2000]);
    assert!(job["duration_ms"].as_u64() >= Some(3000), "{job}");
    assert_nothing_is_left(&world, "job");
}

/// From the end of each attempt to the time that was set for the next.
fn pauses(world: &World) -> Vec<u64> {
    let journal = world.journal("job");
    let ends = journal
        .iter()
        .filter(|record| !record["event"]["attempt_ended"].is_null());
    ends.map(|record| {
        let next = record["event"]["attempt_ended"]["next_at"]
            .as_u64()
            .unwrap();
        next - record["at"]["boot_ms"].as_u64().unwrap()
    })
    .collect()
}

#[test]
fn the_number_of_restarts_is_kept_and_the_last_failure_is_the_jobs() {
    let world = World::new();
    start(
        &world,
        &["--restart", "on-failure:1"],
        "echo start >> \"$RUNS\"; exit 9",
    );
    assert_eq!(world.outlive(&["wait", "job"]).code, 9);
    assert_eq!(runs(&world).len(), 2);
    assert_eq!(codes(&world.show("job")), [Some(9), Some(9)]);
    let refused = world.outlive(&["log", "job", "--attempt", "3"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("no attempt 3; the newest is 2"),
        "{refused:?}"
    );
}

#[test]
fn always_runs_a_command_again_after_a_success() {
    let world = World::new();
    start(
        &world,
        &["--restart", "always"],
        "echo start >> \"$RUNS\"; exit 0",
    );
    until("it ran twice", || runs(&world).len() == 2);
    world.ok(&["stop", "job"]);
    let job = world.show("job");
    assert_eq!(
        (&job["exit_code"], &job["ended_by"]),
        (&0.into(), &"stop".into()),
        "{job}"
    );
}

#[test]
fn a_job_between_two_attempts_waits_and_says_until_when() {
    let world = World::new();
    start(&world, &["--restart", "on-failure:2"], THIRD_TIME);
    let mut seen = Value::Null;
    until("the second pause", || {
        seen = world.show("job");
        seen["state"] == "waiting" && seen["attempt"] == 2
    });
    assert!(seen["next_attempt_at"].is_string(), "{seen}");
    assert_eq!(
        (&seen["pid"], &seen["exit_code"]),
        (&Value::Null, &Value::Null),
        "{seen}"
    );
    assert_eq!(world.listed(&["--state", "running"]), ["job"]);
    let text = world.ok(&["show", "job"]);
    assert!(text.contains("waiting for attempt 3, at 2"), "{text}");
    assert_eq!(world.wait("job")["next_attempt_at"], Value::Null);
}

/// A wrong name stays wrong.
#[test]
fn a_command_that_cannot_be_started_is_not_tried_again() {
    let world = World::new();
    let ran = world.outlive(&[
        "run",
        "--id",
        "job",
        "--restart",
        "always",
        "--",
        "no-such-program",
    ]);
    assert_eq!(ran.code, 127, "{ran:?}");
    assert_eq!(world.show("job")["attempt"], 1);
    assert_eq!(world.events("job", "attempt_ended").len(), 0);
}

/// But a program that is missing for a moment, because it is being built anew, fails like any other.
#[test]
fn a_program_that_is_gone_for_a_while_is_tried_again() {
    let world = World::new();
    let program = world.path("program");
    let install = |script: &str| {
        use std::os::unix::fs::PermissionsExt;
        let new = world.path("new");
        std::fs::write(&new, script).unwrap();
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::rename(new, &program).unwrap();
    };
    install("#!/bin/sh\nrm -- \"$0\"; exit 4\n");
    let path = program.to_str().unwrap();
    world.ok(&["run", "--id", "job", "--restart", "on-failure", "--", path]);
    until("the second attempt has failed", || {
        world.events("job", "attempt_ended").len() == 2
    });
    install("#!/bin/sh\nexit 0\n");
    world.wait("job");
    assert_eq!(codes(&world.show("job")), [Some(4), Some(127), Some(0)]);
    // Only attempts with a process are in the journal with one.
    assert_eq!(world.events("job", "spawned").len(), 3);
}

#[test]
fn each_failure_and_the_end_are_told_once() {
    let world = World::new();
    start(
        &world,
        &["--restart", "on-failure:1", "--session", "s"],
        "echo oops; exit 3",
    );
    world.wait("job");
    world.until_over("job");
    let inbox = |more: &[&str]| {
        let args = [&["inbox", "--session", "s", "--json"], more].concat();
        world.json(&args)["events"].as_array().unwrap().clone()
    };
    let told = inbox(&["--ack-all"]);
    let kinds: Vec<&str> = told
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["restarted", "ended"]);
    let data = &told[0]["data"];
    assert_eq!(
        (&data["attempt"], &data["exit_code"], &data["output_bytes"]),
        (&1.into(), &3.into(), &5.into())
    );
    assert!(data["next_attempt_at"].is_string(), "{data}");
    let text = told[0]["text"].as_str().unwrap();
    assert!(text.contains("attempt 1 failed with exit code 3"), "{text}");
    assert!(text.contains("outlive log job --attempt 1"), "{text}");
    assert!(
        told[1]["text"]
            .as_str()
            .unwrap()
            .contains("It was attempt 2.")
    );
    assert_eq!(inbox(&[]), Vec::<Value>::new());
}

#[test]
fn failures_that_nobody_wants_to_hear_of_are_not_told() {
    let world = World::new();
    let options = [
        "--restart",
        "on-failure:1",
        "--session",
        "s",
        "--notify",
        "never",
    ];
    start(&world, &options, "exit 3");
    world.wait("job");
    assert_eq!(world.ok(&["inbox", "--session", "s"]), "");
}

#[test]
fn what_cannot_be_restarted_is_refused() {
    let world = World::new();
    for (options, said) in [
        (
            vec!["--restart", "sometimes"],
            "on-failure, on-failure:N or always",
        ),
        (vec!["--restart", "on-failure:0"], "at least 1"),
        (
            vec!["--restart", "always", "--stdin", "pipe"],
            "give it no input",
        ),
        (vec!["--restart", "always", "--pty"], "give it no input"),
    ] {
        let args = [vec!["run"], options, vec!["--", "true"]].concat();
        let ran = Ran::of(&mut world.command(&args));
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {ran:?}");
    }
    assert_eq!(world.listed(&["--state", "all"]), Vec::<String>::new());
}
