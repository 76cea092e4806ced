//! `prune` keeps jobs whose session has not been told of their end.

use super::{removed, untold};
use outlive_testkit::scripts::{loop_until, over, sleeper};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_session_that_was_not_told_keeps_its_job() {
    let world = World::new();
    let id = untold(&world, &[]);
    let ran = world.outlive(&["prune", "--all", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("has not been told"), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["removed"], json!([]));
    assert_eq!(answer["untold"], json!([id]));
    assert_eq!(removed(&world, &["--keep", "0"]), [""; 0]);
    assert_eq!(removed(&world, &["--all", "--force"]), [id.as_str()]);
}

#[test]
fn a_match_that_nobody_was_told_keeps_its_job_if_a_session_may_come() {
    let world = World::new();
    let watched = ["--watch", "hit", "--notify", "never", "--", "echo", "hit"];
    let ids: Vec<String> = [&["--session", "s"][..], &[]]
        .iter()
        .map(|session| world.ok(&[&["run"], *session, &watched].concat()))
        .collect();
    for id in &ids {
        world.until_over(id);
    }
    // Without a session, nobody can come to read the event.
    assert_eq!(removed(&world, &["--all"]), [ids[1].as_str()]);
    world.ok(&["inbox", "--session", "s", "--ack-all"]);
    assert_eq!(removed(&world, &["--all"]), [ids[0].as_str()]);
}

#[test]
fn show_does_not_count_as_told() {
    let world = World::new();
    let id = untold(&world, &[]);
    world.show(&id);
    world.ok(&["list", "--session", "s"]);
    world.ok(&["wait", "--timeout", "5s"]);
    assert_eq!(removed(&world, &["--all"]), [""; 0]);
}

#[test]
fn a_wait_counts_as_told() {
    let world = World::new();
    let id = untold(&world, &[]);
    world.ok(&["wait", &id]);
    assert_eq!(
        removed(&world, &["--all"]),
        [""; 0],
        "it may have been anybody"
    );
    assert_eq!(world.as_session("s", &["wait", &id]).code, 0);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn a_wait_that_timed_out_does_not_count_as_told() {
    let world = World::new();
    let gate = world.path("gate");
    let script = loop_until(&gate);
    let id = world.ok(&["run", "--session", "s", "--shell", &script]);
    assert_eq!(world.outlive(&["wait", &id, "--timeout", "50ms"]).code, 124);
    fs::write(&gate, "").unwrap();
    world.until_over(&id);
    assert_eq!(removed(&world, &["--all"]), [""; 0]);
}

#[test]
fn a_stop_or_a_run_wait_counts_as_told() {
    let world = World::new();
    let stopped = sleeper(&world, &["--session", "s"]);
    assert_eq!(world.as_session("s", &["stop", &stopped]).code, 0);
    world.ok(&[
        "run",
        "--session",
        "s",
        "--id",
        "stayed",
        "--wait",
        "--",
        "true",
    ]);
    world.until_over(&stopped);
    world.until_over("stayed");
    let mut gone = removed(&world, &["--all"]);
    gone.sort();
    assert_eq!(gone, [stopped.as_str(), "stayed"]);
}

#[test]
fn a_session_that_never_wants_to_be_told_does_not_keep_its_jobs() {
    let world = World::new();
    let id = untold(&world, &["--notify", "never"]);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn an_untold_job_does_not_keep_others_from_being_removed() {
    let world = World::new();
    let kept = untold(&world, &[]);
    let gone = over(&world, &["--", "true"]);
    assert_eq!(removed(&world, &["--all"]), [gone.as_str()]);
    assert!(world.job_dir(&kept).exists());
}
