//! Places that can only run one command and return its text: the same promises, whatever becomes of calls and their answers.

mod calls;
mod killing;
mod lent;
mod mailbox;
mod reaching;
mod rough;
mod secrets;
mod swerex;

use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::places::OneShot;
use outlive_testkit::places::one_shot::Ways;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::sync::Arc;

/// A world whose jobs run at such a place.
fn at(place: OneShot) -> (Arc<OneShot>, World) {
    let place = Arc::new(place);
    (place.clone(), World::at(place))
}

/// A place with these ways.
fn with(ways: Ways) -> (Arc<OneShot>, World) {
    at(OneShot::with("text", ways))
}

/// A script that appends to a file at the place each time it starts, so that a second start is seen.
fn counted(world: &World, id: &str, script: &str) -> String {
    let file = world.path_there(&format!("starts-{id}"));
    format!("echo started >> '{}'; {script}", file.display())
}

/// How often the job of such a script has started.
fn starts(world: &World, id: &str) -> usize {
    let file = world.path_there(&format!("starts-{id}"));
    let text = world.place().read(&file).unwrap_or_default();
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// Starts a job for session `s` that reads its input, and that counts its starts.
fn start(world: &World, id: &str, script: &str) {
    let script = counted(world, id, script);
    let args = ["run", "--id", id, "--session", "s", "--stdin", "pipe"];
    world.ok(&[&args[..], &["--shell", &script]].concat());
}

/// What the inbox of session `s` has now, as `job kind`, without waits for input.
#[track_caller]
fn told(world: &World) -> Vec<String> {
    let inbox = world.json(&["inbox", "--session", "s", "--json"]);
    let events = inbox["events"].as_array().unwrap();
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or("-").to_owned();
    let events = events.iter().filter(|it| it["kind"] != "awaiting_input");
    events
        .map(|event| format!("{} {}", word(event, "job"), word(event, "kind")))
        .collect()
}

/// Checks that the job ends with this exit code and output, started once, and is told once to session `s`.
#[track_caller]
fn assert_exact(world: &World, id: &str, code: i32, output: &[u8]) {
    let waited = world.outlive(&["wait", id, "--json", "--timeout", "120s"]);
    let job = waited.job_or_null();
    assert_eq!(job["outcome"], exited(code), "{waited:?}");
    let log = world.outlive(&["log", id, "--raw", "--bytes", "0:", "--peek"]);
    assert_same_bytes(id, &log.bytes, output);
    assert_eq!(starts(world, id), 1, "{id} is started once");
    assert_eq!(world.events(id, "ended").len(), 1, "{id} ends once");
    assert_eq!(told(world), [format!("{id} ended")]);
}

/// Waits until no process of the jobs is left there.
#[track_caller]
fn until_nothing_runs_there(world: &World) {
    until("nothing runs there", || world.processes().is_empty());
}
