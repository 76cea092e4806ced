//! A doorbell that fails is rung again, and `show` prints the reason.

use super::{Heard, command_bell, configure, standing, until_stands};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

#[test]
fn a_failed_doorbell_is_rung_again() {
    let world = World::new();
    let (heard, ready) = (Heard::new(&world), world.path("ready"));
    let bell = format!(
        "{}; test -e {} && exit; printf 'oh\\nno' >&2; exit 4",
        heard.command(),
        ready.display()
    );
    let id = world.ok(&["run", "--on-end", &bell, "--", "true"]);
    until_stands(&world, &id, "waiting", 1);
    assert_eq!(standing(&world, &id)["failure"], "ended with 4: oh\nno");
    let shown = world.ok(&["show", &id]);
    let said = "doorbell  on-end to be rung again after 1 attempt: ended with 4: oh no\n";
    assert!(shown.contains(said), "{shown}");
    // The job has ended; only its doorbell has not.
    let job = world.show(&id);
    assert_eq!(
        (job["state"].as_str(), job["lingering"].as_u64()),
        (Some("ended"), Some(0))
    );
    fs::write(&ready, "").unwrap();
    until_stands(&world, &id, "rung", 2);
    world.until_over(&id);
    let shown = world.ok(&["show", &id]);
    assert!(shown.contains("on-end rung after 2 attempts\n"), "{shown}");
    let events = heard.events();
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], events[1]);
    let waited = rung_at(&world, &id, 1) - rung_at(&world, &id, 0);
    assert!((1000..5000).contains(&waited), "{waited}");
}

/// When an attempt was finished, in milliseconds since boot.
fn rung_at(world: &World, id: &str, attempt: usize) -> u64 {
    let journal = world.journal(id);
    let mut rings = journal
        .iter()
        .filter(|record| record["event"].get("rung").is_some());
    let record = rings.nth(attempt).unwrap();
    record["at"]["boot_ms"].as_u64().unwrap()
}

#[test]
fn a_doorbell_command_that_cannot_be_executed_has_failed() {
    let world = World::new();
    let bell = command_bell("exec /nowhere/at-all", "");
    configure(&world, &bell);
    let id = world.ok(&["run", "--", "true"]);
    until_stands(&world, &id, "waiting", 1);
    let failure = standing(&world, &id)["failure"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(failure.starts_with("ended with 127: "), "{failure}");
    assert!(failure.contains("/nowhere/at-all"), "{failure}");
}

#[test]
fn a_failing_doorbell_does_not_delay_the_others() {
    let world = World::new();
    let heard = Heard::new(&world);
    configure(&world, &command_bell("exit 1", ""));
    let args = ["run", "--on-end", &heard.command(), "--", "true"];
    let id = world.ok(&args);
    until("both were rung", || {
        let bells = world.show(&id)["doorbells"].clone();
        bells[0]["state"] == "rung" && bells[1]["attempts"] == 1
    });
    assert_eq!(heard.events().len(), 1);
    let shown = world.ok(&["show", &id]);
    assert!(shown.contains("doorbell  on-end rung\n"), "{shown}");
    assert!(shown.contains("doorbell  mine to be rung again"), "{shown}");
}

/// An error message of the command may repeat a secret that it was given.
#[test]
fn secrets_in_a_failure_can_be_left_out() {
    let world = World::new();
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let bell = format!("echo bad token {token} >&2; exit 1");
    let id = world.ok(&["run", "--on-end", &bell, "--", "true"]);
    until_stands(&world, &id, "waiting", 1);
    for args in [
        &["show", &id, "--redact"][..],
        &["show", &id, "--redact", "--json"],
    ] {
        let shown = world.ok(args);
        assert!(shown.contains("ended with 1: bad token"), "{shown}");
        assert!(!shown.contains(token), "{shown}");
    }
}

/// Stopping an ended job gives up its failed doorbells, so that nothing of the job stays behind.
#[test]
fn a_stop_after_the_end_gives_up_what_has_failed() {
    let world = World::new();
    let id = world.ok(&["run", "--on-end", "exit 4", "--", "true"]);
    until_stands(&world, &id, "waiting", 3);
    world.ok(&["stop", &id]);
    world.until_over(&id);
    world.until_nothing_runs();
    let stands = standing(&world, &id);
    assert_eq!(
        (&stands["state"], &stands["attempts"]),
        (&"given_up".into(), &3.into())
    );
    assert_eq!(stands["failure"], "ended with 4");
}

/// Stopping an ended job does not interrupt the first attempt of a doorbell.
#[test]
fn a_stop_after_the_end_leaves_a_first_ring_alone() {
    let world = World::new();
    let (begun, go) = (world.path("begun"), world.path("go"));
    let bell = format!(
        "touch {}; until [ -e {} ]; do sleep 0.02; done",
        begun.display(),
        go.display()
    );
    let id = world.ok(&["run", "--on-end", &bell, "--", "true"]);
    until("it rings", || begun.exists());
    world.ok(&["stop", &id]);
    fs::write(&go, "").unwrap();
    until_stands(&world, &id, "rung", 1);
    world.until_over(&id);
}

/// Only the doorbell of this job is left, and `prune` and `stop` say so.
#[test]
fn prune_says_that_it_keeps_a_job_for_its_doorbell() {
    let world = World::new();
    let bell = "exit 4";
    let id = world.ok(&["run", "--on-end", bell, "--", "true"]);
    until_stands(&world, &id, "waiting", 1);
    let prune = ["prune", "--all", "--force"];
    let pruned = world.outlive(&prune);
    assert_eq!(
        (pruned.code, pruned.stdout.as_str()),
        (0, "removed 0 jobs, freed 0 B\n")
    );
    let words = format!(
        "outlive: kept {id}: its doorbell is still being rung; `outlive stop {id}` ends that\n"
    );
    assert_eq!(pruned.stderr, words);
    let answer = world.json(&["prune", "--all", "--force", "--json"]);
    assert_eq!(answer["busy"], serde_json::json!([id]));
    // `--older-than` does not select this job, so there is no message about it.
    let pruned = world.outlive(&["prune", "--older-than", "1h"]);
    assert_eq!(pruned.stderr, "");

    let stopped = world.outlive(&["stop", &id]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    let words = format!("outlive: {id} had already ended; its doorbell is not rung again\n");
    assert_eq!(stopped.stderr, words);
    assert_eq!(standing(&world, &id)["state"], "given_up");
    let answer = world.json(&["prune", "--all", "--force", "--json"]);
    assert_eq!(answer["removed"], serde_json::json!([id]));
}
