//! `--queue`: at most so many jobs of a queue run at once, first come first served.

mod caps;
mod crowd;
mod idle;
mod killed;
mod order;
mod places;
mod widths;

use outlive_testkit::checks::exited;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, ok, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;

/// Starts a job in this queue, such as `q` or `q:2`.
fn queued(world: &World, queue: &str, script: &str) -> String {
    ok(world, &["run", "--queue", queue, "--shell", script])
}

/// Starts a job in this queue that runs until the test lets it end.
fn runner(world: &World, queue: &str) -> String {
    let id = queued(world, queue, WAITS);
    assert_eq!(world.show(&id)["state"], "running");
    id
}

/// Starts a job in the queue `q`, which has to wait there at this position.
fn waiter(world: &World, position: u32, script: &str) -> String {
    let id = queued(world, "q", script);
    assert_waits(world, &id, position);
    id
}

/// Like [`waiter`], with hooks for the job's keepers.
fn waiter_with_hooks(world: &World, position: u32, hooks: &str, script: &str) -> String {
    let args = ["run", "--queue", "q", "--shell", script];
    let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.trim_end().to_owned();
    assert_waits(world, &id, position);
    id
}

fn assert_waits(world: &World, id: &str, position: u32) {
    let job = world.show(id);
    assert_eq!(job["state"], "waiting", "{job}");
    let waits = &job["waiting_for"];
    assert_eq!(
        (&waits["queue"], &waits["position"]),
        (&json!("q"), &json!(position)),
        "{job}"
    );
    assert_eq!(job["pid"], json!(null));
    assert_eq!(world.events(id, "spawned").len(), 0);
}

/// Checks that the job ran once, to its end, and started after the other job had ended.
fn assert_ran_after(world: &World, id: &str, other: &str) {
    assert_ran_once(world, id);
    let (began, ended) = (world.boot_ms(id, "spawned"), world.boot_ms(other, "ended"));
    assert!(began >= ended, "{id} began {} ms early", ended - began);
}

fn assert_ran_once(world: &World, id: &str) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert_eq!(job.get("waiting_for"), None, "{job}");
    assert_eq!(world.events(id, "spawned").len(), 1);
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn until_running(world: &World, id: &str) {
    until("it runs", || world.show(id)["state"] == "running");
}

/// Checks that no job has left anything in the queue `q`.
fn assert_queue_is_empty(world: &World) {
    world.until_nothing_runs();
    let mut left = outlive_testkit::records::names_in(&world.home().join("queues/q"));
    left.retain(|name| !["counter", "turns", "width"].contains(&name.as_str()));
    assert_eq!(left, [""; 0]);
}
