//! A small MCP client that speaks to the real `outlive mcp`.

use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Every answer of a server should come within this time.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    asked: u64,
    /// Notifications, and answers that the test has not read yet.
    pub others: Vec<Value>,
    /// The `_meta` of every request.
    pub meta: Value,
}

/// The `_meta` keys that every request of the stateless protocol must have.
pub fn stateless() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Client {
    /// Starts a server without sending anything.
    pub fn silent(world: &World, options: &[&str]) -> Client {
        Client::to(world.command([&["mcp"], options].concat()))
    }

    /// Starts this server without sending anything.
    pub fn to(mut command: Command) -> Client {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line);
                let message = message.unwrap_or_else(|_| json!({"not_protocol": line}));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Client {
            input: child.stdin.take(),
            child,
            lines,
            asked: 0,
            others: Vec::new(),
            meta: json!({}),
        }
    }

    /// Starts a server for this session and initializes it like a real client.
    pub fn of(world: &World, session: &str) -> Client {
        Client::with(world, &["--session", session])
    }

    pub fn with(world: &World, options: &[&str]) -> Client {
        let mut client = Client::silent(world, options);
        client.initialize("2025-06-18");
        client
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        let answer = self.request(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        self.notify("notifications/initialized", json!({}));
        answer
    }

    pub fn write_line(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn write(&mut self, message: &Value) {
        self.write_line(&message.to_string());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request without waiting for the answer; returns its ID.
    pub fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.asked += 1;
        let id = self.asked;
        if self.meta.as_object().is_some_and(|meta| !meta.is_empty()) {
            params["_meta"] = self.meta.clone();
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        self.answer_or_end(id).unwrap()
    }

    /// Like [`Client::answer`], for a server that may end before it answers.
    pub fn answer_or_end(&mut self, id: u64) -> Option<Value> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) if message["id"] == id => return Some(message),
                Ok(message) => self.others.push(message),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {id}"),
            }
        }
    }

    /// The next message, whatever it is.
    pub fn next(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub fn ask_tool(&mut self, name: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// Calls a tool; returns its result, which may be an error.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.ask_tool(name, arguments);
        let answer = self.answer(id);
        assert!(answer["result"].is_object(), "{name}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; returns its structured content.
    pub fn ok(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.tool(name, arguments);
        assert_ne!(result["isError"], true, "{name}: {result}");
        result["structuredContent"].clone()
    }

    /// Starts a job; returns its ID.
    pub fn run(&mut self, command: &str) -> String {
        let answer = self.ok("run", json!({"command": command}));
        answer["job"]["id"].as_str().unwrap().to_owned()
    }

    /// Kills the server.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the server ends by itself.
    pub fn until_ended(mut self) {
        self.child.wait().unwrap();
    }

    /// Closes the server's input; returns its exit code.
    pub fn close(mut self) -> i32 {
        drop(self.input.take());
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a result.
pub fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// The job of an event, by the event's id.
pub fn job_of(event: &Value) -> &str {
    let (job, _) = event.as_str().unwrap().split_once(':').unwrap();
    job
}

/// The jobs whose end is told in a reply.
pub fn ends_in(answer: &Value) -> Vec<String> {
    let events = answer["events"].as_array().cloned().unwrap_or_default();
    let ended = events.iter().filter(|event| event["kind"] == "ended");
    ended
        .map(|event| job_of(&event["event"]).to_owned())
        .collect()
}
