//! `awaiting_input`: whether a job waits for input, as the kernel shows it.

mod idle;
mod others;
mod readers;
mod terminals;
mod wait;

use outlive_testkit::checks::until_wrote;
use outlive_testkit::processes::{begin, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::ok;
use outlive_testkit::world::World;
use serde_json::Value;
use std::process::Child;

const PIPE: &[&str] = &["--stdin", "pipe"];
const PTY: &[&str] = &["--pty"];

/// Starts a job of this kind; returns its id.
fn start(world: &World, kind: &[&str], command: &[&str]) -> String {
    let args = [&["run"], kind, &["--"], command].concat();
    ok(world, &args)
}

fn shell(world: &World, kind: &[&str], script: &str) -> String {
    start(world, kind, &["bash", "-c", script])
}

fn wait_for_input(world: &World, id: &str) -> Ran {
    world.outlive(&["wait", id, "--for", "input", "--timeout", "20s", "--json"])
}

/// Waits until the job waits for this kind of input, and checks that all verbs agree.
fn assert_awaits(world: &World, id: &str, kind: &str) {
    let ran = wait_for_input(world, id);
    assert_eq!(ran.code, 0, "{ran:?}");
    let waited = ran.job();
    let list = world.json(&["list", "--json"]);
    let listed = list["jobs"].as_array().unwrap();
    let listed = listed.iter().find(|job| job["id"] == id).unwrap();
    for job in [&waited, listed, &world.show(id)] {
        assert_eq!(job["state"], "running", "{job}");
        assert_eq!(job["awaiting_input"], true, "{job}");
        assert_eq!(job["input_kind"], kind, "{job}");
    }
}

/// Checks that the job does not wait for input, now or a little later.
fn assert_does_not_await(world: &World, id: &str) {
    let ran = world.outlive(&["wait", id, "--for", "input", "--timeout", "300ms", "--json"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let waited = ran.job();
    for job in [waited, world.show(id)] {
        assert_eq!(job["state"], "running", "{job}");
        assert_eq!(job["awaiting_input"], false, "{job}");
        assert_eq!(job["input_kind"], Value::Null, "{job}");
    }
}

fn begin_wait(world: &World, id: &str) -> Child {
    let waiter = begin(world.command(["wait", id, "--for", "input", "--timeout", "20s"]));
    until_blocked(waiter.id() as i32);
    waiter
}

/// Waits until the job's program prints `ready`. After that it does what the test is about.
fn until_ready(world: &World, id: &str) {
    until_wrote(world, id, "ready");
}
