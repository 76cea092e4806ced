//! What a job reports while it runs: matches, readiness, silences, prompts.

mod breaker;
mod cost;
mod endings;
mod floods;
mod limits;
mod lines;
mod patterns;
mod places;
mod probing;
mod prompts;
mod quiet;
mod ready;
mod unfinished;

use outlive_testkit::scripts::ok;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// The session of all jobs here.
const SESSION: &str = "watcher";

/// A configuration in which every match is told on its own, without a limit.
const EVERY_MATCH: &str = r#"
[watch]
spacing = "0ms"
still = "100ms"
[breaker]
most = 1000000
"#;

/// A home with this configuration.
fn world(config: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    let file = world.home().join("config.toml");
    fs::write(&file, config).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    world
}

/// Starts a shell job of the session, which may wait for `$GO`; returns its ID.
fn run(world: &World, options: &[&str], script: &str) -> String {
    let own = ["run", "--session", SESSION];
    ok(world, &[&own, options, &["--shell", script]].concat())
}

/// The matched lines, in order. Each event must be for one line.
fn told(world: &World, id: &str) -> Vec<String> {
    let text = |matched: &Value| {
        assert_eq!(matched["count"], 1, "{matched}");
        matched["last"]["text"].as_str().unwrap().to_owned()
    };
    world.events(id, "matched").iter().map(text).collect()
}

/// How many matches were told in all events.
fn matches(world: &World, id: &str) -> u64 {
    let count = |matched: &Value| matched["count"].as_u64().unwrap();
    world.events(id, "matched").iter().map(count).sum()
}

/// Runs a job to its end; returns the matched lines.
fn told_of(world: &World, options: &[&str], script: &str) -> Vec<String> {
    let id = run(world, options, script);
    world.wait(&id);
    told(world, &id)
}

/// The events that the session has not been told.
fn inbox(world: &World, session: &str) -> Vec<Value> {
    let args = ["inbox", "--session", session, "--peek", "--json"];
    let answer = world.json(&args);
    answer["events"].as_array().unwrap().clone()
}

/// Those of the test's session that are of this kind.
fn inbox_of(world: &World, kind: &str) -> Vec<Value> {
    let mut events = inbox(world, SESSION);
    events.retain(|event| event["kind"] == kind);
    events
}
