//! Doorbells: commands and webhooks that ring when a job has ended.

mod configured;
mod ends;
mod failing;
mod killed;
mod ringing;
mod slow;
mod unkept;

use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

fn configure(world: &World, text: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), text).unwrap();
}

/// A web server that answers one request with this status. Returns its address, and the request once it came.
fn web_server(status: &'static str) -> (String, JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let request = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head:?}");
        }
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap();
        let length = length.split("\r\n").next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
        (head, body)
    });
    (format!("http://{address}/hook/t0ken"), request)
}

fn webhook(url: &str, rest: &str) -> String {
    format!("[[doorbell]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"{url}\"\n{rest}\n")
}

/// A file to which doorbells append their events, one per line.
struct Heard {
    path: PathBuf,
}

impl Heard {
    fn new(world: &World) -> Heard {
        let path = world.path("heard");
        Heard { path }
    }

    /// A doorbell command that appends its event to the file.
    fn command(&self) -> String {
        // One write, so that a command that is killed leaves a whole line or none.
        format!("printf '%s\\n' \"$(cat)\" >> {}", self.path.display())
    }

    fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let parse = |line: &str| serde_json::from_str(line).unwrap();
        text.lines().map(parse).collect()
    }
}

/// The ID of the event of a job's end.
fn end_of(world: &World, id: &str) -> String {
    let journal = world.journal(id);
    let ended = journal
        .iter()
        .find(|record| record["event"].get("ended").is_some());
    world.event_id(id, &ended.unwrap()["seq"])
}

/// The state of the only doorbell of a job, as `show` prints it.
fn standing(world: &World, id: &str) -> Value {
    world.show(id)["doorbells"][0].clone()
}

/// Waits until the only doorbell of a job has this state and number of attempts.
fn until_stands(world: &World, id: &str, state: &str, attempts: u64) {
    until(&format!("it is {state} after {attempts}"), || {
        let bell = standing(world, id);
        bell["state"] == state && bell["attempts"] == attempts
    });
}

/// A configuration with the doorbell `mine`, which runs this command.
fn command_bell(command: &str, rest: &str) -> String {
    let command = command.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[[doorbell]]\nname = \"mine\"\nkind = \"command\"\ncommand = \"{command}\"\n{rest}\n")
}
