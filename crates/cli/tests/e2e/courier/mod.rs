//! The courier of a place: killed at any step it loses nothing, there is one of it, and when nobody asks it sleeps.

mod bells;
mod killed;
mod one;
mod quiet;
mod silent;

use outlive_sys::control::{Read, Stream};
use outlive_testkit::places::CmdSh;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A world whose jobs run in another home, behind a command.
fn world() -> World {
    World::at(Arc::new(CmdSh::default()))
}

/// The address of the place of this world.
fn address(world: &World) -> String {
    let command = world.command(["list"]);
    let mut variables = command.get_envs();
    let place = variables.find(|(name, _)| *name == "OUTLIVE_PLACE");
    place
        .and_then(|(_, value)| value.and_then(OsStr::to_str))
        .unwrap()
        .to_owned()
}

/// Starts the courier, which does this at these steps. The couriers after it do not.
fn begin_courier(world: &World, hooks: &str) -> Ran {
    let address = address(world);
    let mut command = world.command(["courier", "--", &address]);
    Ran::of(command.env("OUTLIVE_HOOKS", hooks))
}

/// The directory of the only place.
fn directory(world: &World) -> PathBuf {
    let places = fs::read_dir(world.home().join("places")).unwrap();
    let mut directories = places
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    directories.next().unwrap()
}

/// A client of the courier that says what it wants line by line.
struct Client {
    stream: Stream,
    read: Vec<u8>,
}

impl Client {
    /// Sends this request.
    fn asking(world: &World, request: &Value) -> Client {
        let patience = Duration::from_secs(10);
        let stream = Stream::connect(&directory(world), "courier", patience);
        let stream = stream.unwrap().expect("a courier listens");
        let line = format!("{request}\n");
        assert_eq!(stream.write(line.as_bytes()).unwrap(), line.len());
        Client {
            stream,
            read: Vec::new(),
        }
    }

    /// The next line. `None` if the courier has closed the connection.
    fn line(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer).unwrap() {
                Read::Bytes(count) => self.read.extend_from_slice(&buffer[..count]),
                Read::Empty => {}
                Read::End => return None,
            }
        }
    }
}

/// A script that appends to a file at the place each time it starts, so that a second start is seen.
fn counted(world: &World, script: &str) -> String {
    let file = world.path_there("starts");
    format!("echo started >> '{}'; {script}", file.display())
}

/// How often the job of such a script has started.
fn starts(world: &World) -> usize {
    let text = fs::read_to_string(world.path_there("starts")).unwrap_or_default();
    text.lines().count()
}

/// The events that the inbox of session `s` has now, as `job kind`.
#[track_caller]
fn told(world: &World) -> Vec<String> {
    let inbox = world.json(&["inbox", "--session", "s", "--json"]);
    let events = inbox["events"].as_array().unwrap().iter();
    events
        .map(|event| {
            format!(
                "{} {}",
                event["job"].as_str().unwrap(),
                event["kind"].as_str().unwrap()
            )
        })
        .collect()
}
