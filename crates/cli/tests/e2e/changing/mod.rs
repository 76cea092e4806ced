//! What can be asked of a job after its start: another watch, other labels, selecting many at once, and what is known
//! of its end.

mod answers;
mod inboxes;
mod kills;
mod labels;
mod selecting;
mod watches;

use outlive_testkit::scripts::ok;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const SESSION: &str = "harness";

/// A world in which every match is told on its own.
fn world() -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    let file = world.home().join("config.toml");
    let config = "[watch]\nspacing = \"0ms\"\nstill = \"50ms\"\n[breaker]\nmost = 1000000\n";
    fs::write(&file, config).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    world
}

/// Starts a shell job of the session, which may wait for `$GO`.
fn run(world: &World, options: &[&str], script: &str) -> String {
    let own = ["run", "--session", SESSION];
    ok(world, &[&own, options, &["--shell", script]].concat())
}

/// The texts of the last lines of all matches, in order.
fn told(world: &World, id: &str) -> Vec<String> {
    let matched = world.events(id, "matched");
    let text = |matched: &Value| matched["last"]["text"].as_str().unwrap().to_owned();
    matched.iter().map(text).collect()
}

#[track_caller]
fn until_told(world: &World, id: &str, texts: &[&str]) {
    until("the matches are told", || {
        told(world, id).len() >= texts.len()
    });
    assert_eq!(told(world, id), texts);
}

/// The events of this kind that the session has not been told.
fn waiting(world: &World, kind: &str) -> Vec<Value> {
    let args = ["inbox", "--session", SESSION, "--peek", "--json"];
    let answer = world.json(&args);
    let mut events = answer["events"].as_array().unwrap().clone();
    events.retain(|event| event["kind"] == kind);
    events
}
