//! Jobs at a place: whatever breaks between here and there, a job is started once, its output and its end are exact,
//! and its session is told once.

mod acking;
mod away;
mod cutting;
mod grounds;
mod hostile;
mod instances;
mod killing;
mod reaching;
mod secrets;
mod silence;

use outlive_testkit::checks::{assert_same_bytes, exited};
use outlive_testkit::places::{CmdSh, Ssh};
use outlive_testkit::tap::Tap;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A world whose jobs run behind a tap.
fn tapped() -> (Arc<Tap>, World) {
    let tap = Arc::new(Tap::default());
    (tap.clone(), World::at(tap))
}

/// A world whose jobs run in another home, behind a command.
fn by_command() -> World {
    World::at(Arc::new(CmdSh::default()))
}

/// A world whose jobs run on a host that is reached with ssh.
fn over_ssh() -> (Arc<Ssh>, World) {
    let ssh = Arc::new(Ssh::default());
    (ssh.clone(), World::at(ssh))
}

/// Configures a place with the name `far`.
fn configure(world: &World, settings: &str) {
    let directory = world.path("config").join("outlive");
    fs::create_dir_all(&directory).unwrap();
    fs::write(
        directory.join("config.toml"),
        format!("[place.far]\n{settings}\n"),
    )
    .unwrap();
}

/// Not a good random number, but a different one in each run. The failure names what it led to.
fn random(below: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::from(now.subsec_nanos()) / 7 % below
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

/// What the inbox of a session has now, as `job kind`. A job that reads may have waited for input, which depends on how
/// soon it got some; each such wait is told once at most.
#[track_caller]
fn told(world: &World, session: &str) -> Vec<String> {
    let inbox = world.json(&["inbox", "--session", session, "--json"]);
    let events = inbox["events"].as_array().unwrap();
    let mut ids: Vec<&str> = events
        .iter()
        .filter_map(|it| it["event"].as_str())
        .collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "each event is told once: {inbox}");
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or("-").to_owned();
    let events = events.iter().filter(|it| it["kind"] != "awaiting_input");
    events
        .map(|event| format!("{} {}", word(event, "job"), word(event, "kind")))
        .collect()
}

/// Checks that the job ends with this exit code and output, started once, and is told once to session `s`.
#[track_caller]
fn assert_exact(world: &World, id: &str, code: i32, output: &[u8]) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], exited(code), "{job}");
    let log = world.outlive(&["log", id, "--raw", "--bytes", "0:", "--peek"]);
    assert_same_bytes(id, &log.bytes, output);
    assert_eq!(starts(world, id), 1, "{id} is started once");
    assert_eq!(world.events(id, "ended").len(), 1, "{id} ends once");
    assert_eq!(told(world, "s"), [format!("{id} ended")]);
}

/// Waits until no process of the jobs is left there.
#[track_caller]
fn until_nothing_runs_there(world: &World) {
    until("nothing runs there", || world.processes().is_empty());
}
