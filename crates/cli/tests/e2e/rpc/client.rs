//! A client of `outlive rpc`, as simple as one can be.

use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Longer than anything takes that a test waits for.
pub const LONG: Duration = Duration::from_secs(30);

/// A message, and the raw bytes that followed it.
#[derive(Clone, Debug)]
pub struct Message {
    pub json: Value,
    pub raw: Vec<u8>,
}

/// A running `outlive rpc`.
pub struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Message>,
    /// Messages about other requests than the one that was waited for.
    others: VecDeque<Message>,
    pub hello: Value,
    next: i64,
}

impl Rpc {
    pub fn start(world: &World) -> Rpc {
        Rpc::of(world.command(["rpc"]))
    }

    pub fn of(mut command: Command) -> Rpc {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            while let Some(message) = read(&mut from)
                && sender.send(message).is_ok()
            {}
        });
        let mut rpc = Rpc {
            input: child.stdin.take(),
            child,
            messages,
            others: VecDeque::new(),
            hello: Value::Null,
            next: 0,
        };
        rpc.hello = rpc.next_message().json["hello"].clone();
        rpc
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Writes anything.
    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush()).unwrap();
    }

    /// Writes a message, unless the program is gone.
    pub fn try_say(&mut self, message: &Value) -> bool {
        let input = self.input.as_mut().unwrap();
        let written = input.write_all(format!("{message}\n").as_bytes());
        written.and_then(|()| input.flush()).is_ok()
    }

    pub fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Asks, and returns the id of the request.
    pub fn ask(&mut self, verb: &str, request: Value) -> i64 {
        self.ask_with(verb, request, json!({}))
    }

    /// Asks with more keys in the message.
    pub fn ask_with(&mut self, verb: &str, request: Value, more: Value) -> i64 {
        self.next += 1;
        let mut message = json!({"id": self.next, "verb": verb, "request": request});
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        self.say(&message);
        self.next
    }

    /// Asks, and returns the reply.
    #[track_caller]
    pub fn reply(&mut self, verb: &str, request: Value) -> Value {
        let id = self.ask(verb, request);
        self.answer(id)["reply"].clone()
    }

    /// Asks, and returns the code of the error.
    #[track_caller]
    pub fn refused(&mut self, verb: &str, request: Value) -> String {
        let id = self.ask(verb, request);
        let answer = self.answer(id);
        let code = answer["error"]["code"].as_str();
        code.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The answer to a request, whatever its parts are.
    #[track_caller]
    pub fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.of_request(id).json;
            if message.get("part").is_none() {
                return message;
            }
        }
    }

    /// The next message about a request.
    #[track_caller]
    pub fn of_request(&mut self, id: i64) -> Message {
        self.next_of(&json!(id))
    }

    #[track_caller]
    pub fn next_of(&mut self, id: &Value) -> Message {
        if let Some(at) = self.others.iter().position(|other| other.json["id"] == *id) {
            return self.others.remove(at).unwrap();
        }
        loop {
            let message = self.next_message();
            if message.json["id"] == *id {
                return message;
            }
            self.others.push_back(message);
        }
    }

    #[track_caller]
    fn next_message(&mut self) -> Message {
        match self.messages.recv_timeout(LONG) {
            Ok(message) => message,
            Err(error) => panic!("{error}; beside it came {:?}", self.others),
        }
    }

    /// The next message about a request, if it comes within this time.
    pub fn soon(&mut self, id: i64, limit: Duration) -> Option<Message> {
        self.soon_of(&json!(id), limit)
    }

    pub fn soon_of(&mut self, id: &Value, limit: Duration) -> Option<Message> {
        let is_it = |message: &Message| message.json["id"] == *id;
        if let Some(at) = self.others.iter().position(is_it) {
            return self.others.remove(at);
        }
        loop {
            match self.messages.recv_timeout(limit) {
                Ok(message) if is_it(&message) => return Some(message),
                Ok(message) => self.others.push_back(message),
                Err(_) => return None,
            }
        }
    }

    /// Every message until the program has closed its output.
    pub fn rest(&mut self) -> Vec<Message> {
        let mut rest: Vec<Message> = self.others.drain(..).collect();
        loop {
            match self.messages.recv_timeout(LONG) {
                Ok(message) => rest.push(message),
                Err(RecvTimeoutError::Disconnected) => return rest,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Starts a shell job; returns its id.
    #[track_caller]
    pub fn shell(&mut self, script: &str) -> String {
        self.run(json!({"command": {"shell": script}}))
    }

    #[track_caller]
    pub fn run(&mut self, request: Value) -> String {
        let started = self.reply("run", request);
        started["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{started}"))
            .to_owned()
    }

    /// Waits for the end of a job; returns the job.
    #[track_caller]
    pub fn end_of(&mut self, job: &str) -> Value {
        let reply = self.reply("wait", json!({"jobs": [job]}));
        reply["jobs"][0].clone()
    }

    /// Closes its input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits until it has left.
    #[track_caller]
    pub fn left(&mut self) -> ExitStatus {
        self.close();
        until("rpc has left", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap()
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Rpc {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(from: &mut impl BufRead) -> Option<Message> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).ok()?;
    let json: Value = serde_json::from_slice(&line).ok()?;
    let mut raw = vec![0; json["bytes"].as_u64().unwrap_or(0) as usize];
    from.read_exact(&mut raw).ok()?;
    Some(Message { json, raw })
}
