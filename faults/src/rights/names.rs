//! Ids from outside, given to every verb and to every tool of the MCP server.

use crate::row::{Context, Row, Tried};
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "rights: ids that are no ids",
        promise: "refused with a message by every verb and tool; nothing is read or changed",
        run,
    }]
}

struct Name {
    what: &'static str,
    id: String,
}

impl fmt::Display for Name {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.what)
    }
}

fn names() -> Vec<Name> {
    let name = |what, id: &str| Name {
        what,
        id: id.to_owned(),
    };
    vec![
        name("nothing", ""),
        name("a dot", "."),
        name("two dots", ".."),
        name("a job beside the home", "../../outside"),
        name("a job by way of another directory", "../jobs/real"),
        name("a link to a job", "../live/real"),
        name("a path from the root", "/etc"),
        name("a slash at its end", "real/"),
        name("a hidden one", ".new-real"),
        name("10 kB", &"x".repeat(10_000)),
        name("10 kB of dots and slashes", &"../".repeat(3_500)),
        name("a NUL", "real\0"),
        name("a newline", "real\n"),
        name("letters that look like it", "re\u{0430}l"),
        name(
            "full-width dots and slashes",
            "\u{ff0e}\u{ff0e}\u{ff0f}real",
        ),
        name("text that runs backwards", "real\u{202e}"),
        name("a space of no width", "re\u{200b}al"),
        name("a slash as a URL has it", "..%2freal"),
        name("overlong dots", "%c0%ae%c0%ae/real"),
        name("a pattern", "*"),
        name("a home", "~"),
        name("an escape sequence", "\u{1b}[2Jreal"),
        name("a dash", "-rf"),
    ]
}

/// Every verb that takes an ID.
const VERBS: [(&[&str], &[&str]); 9] = [
    (&["show"], &[]),
    (&["log"], &[]),
    (&["wait", "--timeout", "1s"], &[]),
    (&["stop"], &[]),
    (&["signal"], &["KILL"]),
    (&["send"], &["x"]),
    (&["resize"], &["3x4"]),
    (&["attach"], &[]),
    (&["inbox", "--session", "s", "--ack"], &[]),
];

fn run(context: &Context) -> Tried {
    let all = names();
    let count = all.len();
    let few = count / 2;
    context.try_cases(all, few, |name| {
        let world = context.world()?;
        world.try_ok(&[
            "run",
            "--id",
            "real",
            "--session",
            "s",
            "--stdin",
            "pipe",
            "--",
            "sleep",
            "60",
        ])?;
        // The target of a path that leads out of the home.
        let outside = world.path("outside");
        fs::create_dir(&outside).map_err(|error| error.to_string())?;
        for file in ["spec.json", "journal", "output", "lock"] {
            fs::copy(world.job_dir("real").join(file), outside.join(file))
                .map_err(|error| error.to_string())?;
        }
        let before = (world.files(), snapshot(&outside));
        by_verbs(&world, name)?;
        by_tools(&world, name)?;
        if before != (world.files(), snapshot(&outside)) {
            return Err("something was made or changed".to_owned());
        }
        let job = world.try_json(&["show", "real", "--json"])?;
        match job["state"] == "running" {
            true => world.try_ok(&["stop", "real", "--grace", "0s"]).map(drop),
            false => Err(format!("the job was hit: {job}")),
        }
    })
}

fn snapshot(directory: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| (entry.path(), fs::read(entry.path()).unwrap_or_default()))
        .collect();
    files.sort();
    files
}

/// Whether the text is a message without escape sequences, and not much longer than the name.
fn is_in_words(text: &str, name: &Name) -> bool {
    !text.trim().is_empty()
        && !text.contains('\u{1b}')
        && !text.contains("panicked")
        && text.len() < 1_000 + 8 * name.id.len()
}

fn by_verbs(world: &World, name: &Name) -> Result<(), String> {
    if name.id.contains('\0') {
        // A command-line argument cannot contain a NUL.
        return Ok(());
    }
    for (verb, rest) in VERBS {
        let mut command = world.command(verb);
        command.arg("--").arg(&name.id).args(rest);
        let ran = Ran::try_of(&mut command)?;
        if ![2, 3].contains(&ran.code) || !ran.bytes.is_empty() || !is_in_words(&ran.stderr, name) {
            return Err(format!("{verb:?} took it: {ran}"));
        }
    }
    let run = world.command(["run", &format!("--id={}", name.id), "--", "true"]);
    let ran = Ran::try_of(&mut { run })?;
    match ran.code == 2 && is_in_words(&ran.stderr, name) {
        true => Ok(()),
        false => Err(format!("run took it: {ran}")),
    }
}

/// The tools that take an ID.
fn calls(id: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("show", json!({ "id": id })),
        ("log", json!({ "id": id })),
        ("wait", json!({ "ids": [id], "timeout_seconds": 1 })),
        ("send", json!({ "id": id, "text": "x" })),
        ("stop", json!({ "ids": [id] })),
        ("inbox", json!({ "ack": [id] })),
        ("process", json!({ "action": "kill", "session_id": id })),
    ]
}

fn by_tools(world: &World, name: &Name) -> Result<(), String> {
    let mut server = Server::start(world)?;
    for (tool, arguments) in calls(&name.id) {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = server.ask("tools/call", &params)?;
        let is_refused = answer["result"]["isError"] == true || answer["error"].is_object();
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text
            .or(answer["error"]["message"].as_str())
            .unwrap_or_default();
        let words = text.replace(&name.id, "");
        if !is_refused || !is_in_words(&words, name) {
            return Err(format!("the tool {tool} took it: {answer}"));
        }
    }
    let uri = json!({ "uri": format!("outlive://jobs/{}/output", name.id) });
    let answer = server.ask("resources/read", &uri)?;
    match answer["error"].is_object() {
        true => Ok(()),
        false => Err(format!("a resource was read: {answer}")),
    }
}

/// An MCP server with pipes as its standard input and output.
struct Server {
    child: Child,
    input: ChildStdin,
    answers: mpsc::Receiver<Value>,
    asked: u64,
}

impl Server {
    fn start(world: &World) -> Result<Server, String> {
        let mut child = world
            .command(["mcp", "--session", "s", "--compat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output: ChildStdout = child.stdout.take().ok_or("no standard output")?;
        let (tell, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let answer = serde_json::from_str(&line).unwrap_or_default();
                if tell.send(answer).is_err() {
                    break;
                }
            }
        });
        let mut server = Server {
            child,
            input,
            answers,
            asked: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "faults", "version": "1" }
        });
        server.ask("initialize", &hello)?;
        server.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(server)
    }

    fn say(&mut self, message: &Value) -> Result<(), String> {
        writeln!(self.input, "{message}").map_err(|error| format!("the server is gone: {error}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let answer = self.answers.recv_timeout(Duration::from_secs(30));
            let answer = answer.map_err(|_| format!("no answer to {method} {params}"))?;
            if answer["id"] == id {
                return Ok(answer);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill(self.child.id() as i32, KILL);
        let _ = self.child.wait();
    }
}
