//! The inbox: every untold event of a session is claimed, delivered and acked once.

mod claims;
mod consumed;
mod crashes;
mod delivery;
mod following;
mod ids;
mod lingering;
mod posts;
mod prune;
mod sessions;
mod soak;
mod text;
mod waiting;

use outlive_sys::poll::{self, Interest};
use outlive_testkit::processes::kill;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The session of most tests.
const ME: &str = "me";

/// Runs a job of a session; returns its ID once no process of it is left.
fn ended_of(world: &World, session: &str, script: &str) -> String {
    let id = world.ok(&["run", "--session", session, "--shell", script]);
    world.until_over(&id);
    id
}

fn ended(world: &World, script: &str) -> String {
    ended_of(world, ME, script)
}

/// The ID of the event that reports the end of this job.
fn end_event(world: &World, id: &str) -> String {
    let journal = world.journal(id);
    let end = journal
        .iter()
        .find(|record| record["event"].get("ended").is_some());
    world.event_id(id, &end.unwrap()["seq"])
}

fn inbox_of(world: &World, session: &str, options: &[&str]) -> Value {
    world.json(&[&["inbox", "--session", session, "--json"], options].concat())
}

/// The answer of `inbox --json` for the session.
fn inbox(world: &World, options: &[&str]) -> Value {
    inbox_of(world, ME, options)
}

/// The IDs of the events in an answer, in order.
fn event_ids(answer: &Value) -> Vec<String> {
    let events = answer["events"].as_array().unwrap();
    let id = |event: &Value| event["event"].as_str().unwrap().to_owned();
    events.iter().map(id).collect()
}

/// The event of an answer, which must have exactly one.
fn only_event(answer: &Value) -> Value {
    let events = answer["events"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{answer}");
    events[0].clone()
}

/// How many events the session has not been told, including claimed ones. `session end` counts them without changing
/// anything.
fn waiting(world: &World, session: &str) -> u64 {
    let ran = world.outlive(&["session", "end", session, "--json"]);
    // A session of which nothing is left is not known any more.
    if ran.code == 3 {
        return 0;
    }
    let ended: Value = serde_json::from_str(&ran.stdout).unwrap();
    ended["kept"].as_u64().unwrap()
}

fn assert_nothing_waits(world: &World) {
    assert_eq!(waiting(world, ME), 0);
    assert_eq!(inbox(world, &[]), json!({ "events": [] }));
}

fn ack(world: &World, event: &str) {
    world.ok(&["inbox", "--session", ME, "--ack", event]);
}

/// Writes the configuration file of this home.
fn configure(world: &World, text: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), text).unwrap();
}

/// Posts an event; returns its ID.
fn post(world: &World, data: &Value, options: &[&str]) -> String {
    let ran = try_to_post(world, &data.to_string(), options);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn try_to_post(world: &World, text: &str, options: &[&str]) -> Ran {
    let file = tempfile::NamedTempFile::new_in(world.path("").as_path()).unwrap();
    fs::write(file.path(), text).unwrap();
    let command = ["post", "--session", ME, "--kind", "delegation"];
    let mut command = world.command([&command, options].concat());
    Ran::of(command.arg(file.path()))
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// A consumer that runs in the background. It is killed when this is dropped.
struct Consumer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Consumer {
    fn begin(mut command: Command) -> Consumer {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Consumer { child, lines }
    }

    /// Starts `outlive inbox` for the test's session with these options.
    fn of(world: &World, options: &[&str]) -> Consumer {
        let own = ["inbox", "--session", ME, "--json"];
        Consumer::begin(world.command([&own, options].concat()))
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The next line that it prints, as JSON.
    fn line(&mut self) -> Value {
        if self.lines.buffer().is_empty() {
            let stdout = (self.lines.get_ref().as_fd(), Interest::Readable);
            until("it prints a line", || {
                let limit = Some(Duration::from_millis(100));
                poll::wait(&[stdout], limit).unwrap().contains(&true)
            });
        }
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("it ended: {:?}", self.words()))
    }

    /// Everything that it prints on stderr until it ends.
    fn words(&mut self) -> String {
        let mut words = String::new();
        let stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut BufReader::new(stderr), &mut words).unwrap();
        words
    }

    /// Waits for its end. Returns its exit code and everything that it still prints, which must fit into a pipe.
    fn end(mut self) -> Ran {
        until("it ends", || self.child.try_wait().unwrap().is_some());
        let mut stdout = String::new();
        std::io::Read::read_to_string(&mut self.lines, &mut stdout).unwrap();
        let stderr = self.words();
        let status = self.child.wait().unwrap();
        Ran::from(std::process::Output {
            status,
            stdout: stdout.into_bytes(),
            stderr: stderr.into_bytes(),
        })
    }

    /// Waits for its end, which must be a success, and returns its answer.
    fn answer(self) -> Value {
        let ran = self.end();
        assert_eq!(ran.code, 0, "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        kill(self.pid(), 9);
        let _ = self.child.wait();
    }
}
