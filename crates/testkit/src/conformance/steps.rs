//! Steps that several cases share. All of them work at every place.

use crate::checks::assert_same_bytes;
use crate::ran::Ran;
use crate::waiting::until;
use crate::world::World;
use serde_json::Value;
use std::str::FromStr;

/// Starts a shell job with these options of `run`; returns its id.
#[track_caller]
pub fn start(world: &World, options: &[&str], script: &str) -> String {
    world.ok(&[&["run"], options, &["--shell", script]].concat())
}

/// Starts a shell job and waits for its end; returns its id and the job.
#[track_caller]
pub fn run(world: &World, options: &[&str], script: &str) -> (String, Value) {
    let id = start(world, options, script);
    let job = world.wait(&id);
    (id, job)
}

/// Checks how the ended job says that it ended.
#[track_caller]
pub fn assert_ended(job: &Value, outcome: &Value, code: i32, by: &str) {
    assert_eq!(job["state"], "ended", "{job}");
    assert_eq!(job["outcome"], *outcome, "{job}");
    assert_eq!(job["exit_code"], code, "{job}");
    assert_eq!(job["ended_by"], by, "{job}");
}

/// The output as `log --raw` prints it.
#[track_caller]
pub fn output(world: &World, id: &str) -> Vec<u8> {
    let ran = world.outlive(&["log", id, "--raw", "--peek", "--bytes", "0:"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.bytes
}

/// Checks that the output of a job is exactly this, and that the job reports the same length.
#[track_caller]
pub fn assert_output(world: &World, id: &str, expected: &[u8]) {
    assert_same_bytes("output", &output(world, id), expected);
    let said = &world.show(id)["output"];
    assert_eq!(said["bytes"], expected.len(), "{said}");
    assert_eq!(said["dropped_bytes"], 0, "{said}");
    assert_eq!(said["complete"], true, "{said}");
}

/// Waits until the job has printed this text somewhere.
#[track_caller]
pub fn until_printed(world: &World, id: &str, text: &str) {
    until(&format!("{id} printed {text:?}"), || {
        String::from_utf8_lossy(&output(world, id)).contains(text)
    });
}

/// A line of script that waits for [`let_go`].
pub fn wait_for_go(world: &World) -> String {
    let go = world.path_there("go");
    format!("until [ -e '{}' ]; do sleep 0.02; done", go.display())
}

/// Lets the waiting jobs continue.
pub fn let_go(world: &World) {
    world.place().write(&world.path_there("go"), b"").unwrap();
}

/// The path of this file at the place, for a script.
pub fn file(world: &World, name: &str) -> String {
    format!("'{}'", world.path_there(name).display())
}

/// Waits until a job has written a line to a file at the place; returns it.
#[track_caller]
pub fn written<T: FromStr>(world: &World, name: &str) -> T {
    let path = world.path_there(name);
    let mut found = None;
    until(&format!("a job wrote {name}"), || {
        let text = world.place().read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        // A line without its end may be incomplete.
        found = text.ends_with('\n').then(|| text.trim().parse().ok());
        found.as_ref().is_some_and(Option::is_some)
    });
    found.flatten().unwrap()
}

/// Whether a process runs at the place.
pub fn runs(world: &World, pid: i32) -> bool {
    world.place().process(pid).is_some()
}

/// What the inbox of a session delivers now.
#[track_caller]
pub fn delivered(world: &World, session: &str) -> Vec<Value> {
    let inbox = world.json(&["inbox", "--session", session, "--json"]);
    inbox["events"].as_array().unwrap().clone()
}

/// The kinds of events.
pub fn kinds(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().filter_map(|event| event["kind"].as_str());
    kinds.collect()
}

/// Kills a client of ours with SIGKILL.
pub fn kill_client(mut client: std::process::Child) {
    client.kill().unwrap();
    client.wait().unwrap();
}

/// The exit code and the output of a client that runs in the background.
pub fn end_of(client: std::process::Child) -> Ran {
    Ran::end_of(client)
}
