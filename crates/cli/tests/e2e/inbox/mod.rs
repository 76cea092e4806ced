//! The inbox: what a session has not been told is claimed, delivered and acked once.

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

/// The session whose inbox most tests are about.
const ME: &str = "me";

/// Starts a job of a session; returns its id once nothing of it is left.
fn ended_of(world: &World, session: &str, script: &str) -> String {
    let id = world.ok(&["run", "--session", session, "--shell", script]);
    world.until_over(&id);
    id
}

fn ended(world: &World, script: &str) -> String {
    ended_of(world, ME, script)
}

/// The id of the event that a job's end is.
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

/// What a look at the inbox brings.
fn inbox(world: &World, options: &[&str]) -> Value {
    inbox_of(world, ME, options)
}

/// The ids of the events in an answer, in its order.
fn event_ids(answer: &Value) -> Vec<String> {
    let events = answer["events"].as_array().unwrap();
    let id = |event: &Value| event["event"].as_str().unwrap().to_owned();
    events.iter().map(id).collect()
}

/// The one event that a look brings.
fn only_event(answer: &Value) -> Value {
    let events = answer["events"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{answer}");
    events[0].clone()
}

/// What waits, whoever has claimed it: `session end` counts it without changing anything.
fn waiting(world: &World, session: &str) -> u64 {
    let ran = world.outlive(&["session", "end", session, "--json"]);
    // Nobody knows a session any more of which nothing is left.
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

/// Sets what is configured in this home.
fn configure(world: &World, text: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), text).unwrap();
}

/// Posts this; returns the event's id.
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

/// A consumer in the background, which ends with the test.
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

    /// `outlive inbox` of this test's session with these options.
    fn of(world: &World, options: &[&str]) -> Consumer {
        let own = ["inbox", "--session", ME, "--json"];
        Consumer::begin(world.command([&own, options].concat()))
    }

    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The next line that it prints, which it must.
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

    /// What it said on its way to its end.
    fn words(&mut self) -> String {
        let mut words = String::new();
        let stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut BufReader::new(stderr), &mut words).unwrap();
        words
    }

    /// Everything it goes on to print, which is less than a pipe holds, and its code.
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

    /// The answer it ends with, which must be a good one.
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
