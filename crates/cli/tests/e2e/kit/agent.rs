//! An agent for tests: a real process that calls hooks and may be killed.

use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Longer than an agent needs to save what it was handed.
pub const SETTLED: Duration = Duration::from_millis(250);

/// An agent: it calls one hook after the other, each as agents do, by a shell.
pub struct Agent {
    process: Child,
    /// Whose hooks it calls.
    name: &'static str,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
    directory: PathBuf,
}

impl Agent {
    pub fn start(world: &World) -> Agent {
        Agent::start_in(world, "agent")
    }

    /// An agent beside another one: each has a directory of its own.
    pub fn start_in(world: &World, directory: &str) -> Agent {
        let directory = world.path(directory);
        fs::create_dir_all(&directory).unwrap();
        let script = directory.join("agent.sh");
        // Reading a file ends the name of an event for `read`.
        let text = "while read -r event agent; do sh -c \"$OUTLIVE hook $event --agent $agent\" \
            <input >output 2>error; echo $?; done";
        fs::write(&script, text).unwrap();
        let mut process = Command::new("bash");
        process
            .arg(script)
            .current_dir(&directory)
            .env("OUTLIVE", outlive_testkit::programs::outlive())
            .env("OUTLIVE_HOME", world.home())
            .env_remove("OUTLIVE_SESSION")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CLAUDE")) {
            process.env_remove(name);
        }
        let mut process = process.spawn().unwrap();
        Agent {
            asked: process.stdin.take().unwrap(),
            answers: BufReader::new(process.stdout.take().unwrap()),
            name: "claude-code",
            process,
            directory,
        }
    }

    /// The same, as another agent than Claude Code.
    pub fn of(mut self, name: &'static str) -> Agent {
        self.name = name;
        self
    }

    /// Calls a hook, and returns everything that it printed.
    pub fn call(&mut self, event: &str, input: &Value) -> String {
        self.begin(event, input);
        self.end()
    }

    fn begin(&mut self, event: &str, input: &Value) {
        fs::write(self.directory.join("input"), input.to_string()).unwrap();
        writeln!(self.asked, "{event} {}", self.name).unwrap();
    }

    fn end(&mut self) -> String {
        let mut code = String::new();
        self.answers.read_line(&mut code).unwrap();
        let read = |name: &str| fs::read_to_string(self.directory.join(name)).unwrap();
        read("output") + &read("error")
    }

    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn said() -> Value {
    json!({"session_id": "s"})
}

/// A tool call that began after the agent got what a hook printed before.
pub fn later_call() -> Value {
    sleep(SETTLED);
    json!({"session_id": "s", "duration_ms": 1})
}

pub fn is_told(world: &World, id: &str) -> bool {
    let told = fs::read_to_string(world.job_dir(id).join("told")).unwrap_or_default();
    told.contains("\"told\"")
}
