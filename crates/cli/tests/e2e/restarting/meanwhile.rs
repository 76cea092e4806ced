//! What goes on over all attempts, and what begins anew with each.

use super::{NOTED, codes, runs, start};
use outlive_testkit::checks::assert_nothing_is_left;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

/// Its port would still be taken otherwise, and nobody could tell whose output is whose.
#[test]
fn what_an_attempt_leaves_is_stopped_before_the_next_begins() {
    let world = World::new();
    // The shell may say on stderr that its `sleep` was terminated. It may also see that before its own TERM.
    let leaves = "echo start >> \"$RUNS\"; \
        (trap 'echo late; echo gone >> \"$RUNS\"; exit 0' TERM; echo left; : > \"$RUNS.$$\"; while :; do sleep 60 & wait; done) 2>/dev/null & \
        until [ -e \"$RUNS.$$\" ]; do sleep 0.01; done; exit 3";
    start(&world, &["--restart", "on-failure:1"], leaves);
    world.wait("job");
    world.ok(&["stop", "job"]);
    assert_eq!(runs(&world), ["start", "gone", "start", "gone"]);
    assert_eq!(world.ok(&["log", "job", "--attempt", "1"]), "left\nlate");
    let attempts = &world.show("job")["attempts"];
    assert_eq!(
        attempts[0]["output"]["to"], attempts[1]["output"]["from"],
        "{attempts}"
    );
    assert_nothing_is_left(&world, "job");
}

/// The command is ready in its second attempt only; what the first printed counts for nothing.
#[test]
fn each_attempt_has_to_become_ready_itself() {
    let world = World::new();
    let script = "echo start >> \"$RUNS\"; n=$(wc -l < \"$RUNS\"); echo up; [ $n != 1 ] || exit 1; \
        until [ -e \"$GO\" ]; do sleep 0.02; done; exit 0";
    let options = [
        "--restart",
        "on-failure",
        "--ready",
        "line:^up$",
        "--session",
        "s",
    ];
    start(&world, &options, script);
    until("it is ready again", || {
        world.events("job", "ready").len() == 2
    });
    assert_eq!(world.show("job")["ready"], true);
    assert_eq!(world.outlive(&["wait", "job", "--for", "ready"]).code, 0);
    outlive_testkit::scripts::let_go(&world);
    world.wait("job");
    let kinds: Vec<String> = world
        .all_events("job")
        .into_iter()
        .map(|(kind, _)| kind)
        .collect();
    let of_interest = ["ready", "attempt_ended", "spawned", "ended"];
    let kinds: Vec<&str> = kinds
        .iter()
        .map(String::as_str)
        .filter(|kind| of_interest.contains(kind))
        .collect();
    assert_eq!(
        kinds,
        [
            "spawned",
            "ready",
            "attempt_ended",
            "spawned",
            "ready",
            "ended"
        ]
    );
}

#[test]
fn a_job_in_its_pause_is_not_ready() {
    let world = World::new();
    start(
        &world,
        &["--restart", "on-failure", "--ready", "line:^up$"],
        "echo up; exit 1",
    );
    let mut seen = Value::Null;
    until("it waits", || {
        seen = world.show("job");
        seen["state"] == "waiting"
    });
    assert_eq!(seen["ready"], false, "{seen}");
    world.ok(&["stop", "job"]);
}

#[test]
fn a_wait_for_readiness_is_answered_by_the_attempt_that_becomes_ready() {
    let world = World::new();
    let script = "echo start >> \"$RUNS\"; n=$(wc -l < \"$RUNS\"); [ $n = 2 ] || exit 1; echo up; exec sleep 60";
    start(
        &world,
        &["--restart", "on-failure", "--ready", "line:^up$"],
        script,
    );
    assert_eq!(world.outlive(&["wait", "job", "--for", "ready"]).code, 0);
    assert_eq!(world.show("job")["attempt"], 2);
    world.ok(&["stop", "job"]);
}

#[test]
fn a_watch_goes_on_over_attempts() {
    let world = World::new();
    let options = [
        "--restart",
        "on-failure:1",
        "--watch",
        "ERROR",
        "--session",
        "s",
    ];
    // The first line is unfinished when its attempt ends.
    let script = "echo start >> \"$RUNS\"; n=$(wc -l < \"$RUNS\"); printf 'ERROR %s' $n; exit 1";
    start(&world, &options, script);
    world.wait("job");
    let matched = world.events("job", "matched");
    let count: u64 = matched
        .iter()
        .filter_map(|event| event["count"].as_u64())
        .sum();
    assert!(
        count >= 1 && matched[0]["last"]["text"] == "ERROR 1",
        "{matched:?}"
    );
}

#[test]
fn a_pause_is_no_silence() {
    let world = World::new();
    let options = [
        "--restart",
        "on-failure:1",
        "--quiet-after",
        "300ms",
        "--session",
        "s",
    ];
    start(&world, &options, "echo up; exit 1");
    world.wait("job");
    assert_eq!(world.events("job", "quiet").len(), 0);
}

#[test]
fn a_lock_is_held_until_the_last_attempt_has_ended() {
    let world = World::new();
    let script = format!("{NOTED} exit 1");
    start(
        &world,
        &["--restart", "on-failure:1", "--lock", "l"],
        &script,
    );
    until("the first attempt has ended", || {
        world.show("job")["state"] == "waiting"
    });
    let next = world.ok(&["run", "--lock", "l", "--", "true"]);
    assert_eq!(world.show(&next)["waiting_for"]["holder"], "job");
    world.wait("job");
    assert_eq!(world.wait(&next)["exit_code"], 0);
    assert!(world.boot_ms(&next, "spawned") >= world.boot_ms("job", "ended"));
}

#[test]
fn every_attempt_has_the_jobs_environment_and_is_followed() {
    let world = World::new();
    let args = [
        "run",
        "--wait",
        "--restart",
        "on-failure:1",
        "--env",
        "COLOUR=blue",
        "--shell",
        "echo $COLOUR; exit 8",
    ];
    let ran = world.outlive(&args);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (8, "blue\nblue\n"),
        "{ran:?}"
    );
}

/// A restart that a client asks twice for is one job.
#[test]
fn a_job_between_two_attempts_runs_as_far_as_others_are_concerned() {
    let world = World::new();
    start(
        &world,
        &["--restart", "on-failure", "--name", "web"],
        "exit 1",
    );
    until("it waits", || world.show("job")["state"] == "waiting");
    let refused = world.outlive(&["run", "--name", "web", "--", "true"]);
    assert!(
        refused.code != 0 && refused.stderr.contains("web"),
        "{refused:?}"
    );
    world.outlive(&["prune", "--all"]);
    assert_eq!(codes(&world.show("job"))[0], Some(1));
    world.ok(&["stop", "job"]);
}
