//! A container that is stopped, started, paused, and whose engine is away.

use super::{BOX, Site, rows};
use outlive_testkit::places::engine::Kind;
use outlive_testkit::waiting::until;
use std::thread;
use std::time::Duration;

rows! {
    quick: a_stopped_container_settles_its_jobs_when_it_is_started;
    long: jobs_on_a_terminal_are_settled_too, a_paused_container_goes_on_where_it_was,
        who_waits_hears_of_the_end_after_a_pause, an_engine_that_is_restarted_changes_nothing,
}

fn a_stopped_container_settles_its_jobs_when_it_is_started(kind: Kind) {
    let site = Site::with(kind, &[]);
    site.start("job", &[]);
    site.engine.ok(&["stop", "--time", "0", BOX]);
    let words = ["the container is stopped; nothing in it can be running"];
    site.assert_unreachable("job", &words);
    assert!(site.refusal().contains(words[0]));
    let waited = site.world.outlive(&["wait", "job", "--timeout", "1s"]);
    assert_eq!(waited.code, 124, "{waited:?}");
    site.engine.ok(&["start", BOX]);
    site.assert_lost("job", &[]);
    // What runs there now has nothing to do with it.
    site.start("next", &[]);
    site.let_go("next");
    site.assert_exact("next");
}

/// Whether a process has their output open cannot be seen from outside, so only the engine tells that they are over.
fn jobs_on_a_terminal_are_settled_too(kind: Kind) {
    let site = Site::with(kind, &[]);
    let args = ["run", "--id", "job", "--session", "s", "--pty"];
    site.world
        .ok(&[&args[..], &["--", "sleep", "1000"]].concat());
    site.engine.ok(&["restart", "--time", "0", BOX]);
    site.assert_lost("job", &[]);
}

fn a_paused_container_goes_on_where_it_was(kind: Kind) {
    let site = Site::with(kind, &[]);
    site.start("job", &[]);
    site.engine.ok(&["pause", BOX]);
    // The connection that is there does not end.
    site.world.kill_couriers();
    site.assert_unreachable("job", &["the container is paused", "unpause"]);
    assert!(site.refusal().contains("the container is paused"));
    let stopped = site.world.outlive(&["stop", "job"]);
    assert_eq!(stopped.code, 125, "{stopped:?}");
    site.engine.ok(&["unpause", BOX]);
    assert_eq!(site.world.show("job")["state"], "running");
    site.let_go("job");
    site.assert_exact("job");
}

fn who_waits_hears_of_the_end_after_a_pause(kind: Kind) {
    let site = Site::with(kind, &[]);
    site.start("job", &[]);
    let waiter = site.world.begin(&["wait", "job"]);
    site.engine.ok(&["pause", BOX]);
    // The wire is quiet for a while, and nothing is lost by that.
    thread::sleep(Duration::from_secs(3));
    site.engine.ok(&["unpause", BOX]);
    site.let_go("job");
    let ended = waiter.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(7), "{ended:?}");
    site.assert_exact("job");
}

fn an_engine_that_is_restarted_changes_nothing(kind: Kind) {
    // Podman has no process that could end.
    if kind == Kind::Podman {
        return;
    }
    let site = Site::with(kind, &[]);
    site.start("job", &[]);
    site.engine.kill_daemon();
    let job = site.assert_unreachable("job", &[]);
    let reason = job["unreachable"]["reason"].as_str().unwrap();
    assert!(reason.contains("onnect"), "{reason}");
    site.refusal();
    site.engine.start_daemon().unwrap();
    until("it is reached", || {
        site.world.show("job")["state"] == "running"
    });
    site.let_go("job");
    site.assert_exact("job");
}
