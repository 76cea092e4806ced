//! The real Codex, offline, with a scripted model. It starts a job through our tool and is SIGKILLed. The job
//! finishes, and a new Codex with the same thread is told exactly once.
//!
//! Needs npm, and runs only on request: `cargo test -p outlive-cli --test e2e codex -- --ignored`.

use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

const PACKAGE: &str = "@openai/codex@0.166.0";

/// What the model does in one turn.
enum Move {
    Call(&'static str, Value),
    Say,
    /// It never answers.
    Hang,
}

/// A model that plays a script, and remembers the last input before each move.
#[derive(Clone, Default)]
struct Model {
    script: Arc<Mutex<VecDeque<Move>>>,
    heard: Arc<Mutex<Vec<Value>>>,
    hung: Arc<Mutex<Vec<TcpStream>>>,
}

impl Model {
    /// Starts to serve; returns its port.
    fn serve(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let model = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                model.answer(stream.unwrap());
            }
        });
        port
    }

    fn answer(&self, mut stream: TcpStream) {
        let (line, body) = read(&stream);
        if !line.starts_with("POST") {
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n{\"data\":[],\"models\":[]}");
            return;
        }
        let last = body["input"].as_array().and_then(|input| input.last());
        self.heard
            .lock()
            .unwrap()
            .push(last.cloned().unwrap_or_default());
        let item = match self.script.lock().unwrap().pop_front() {
            Some(Move::Call(name, arguments)) => json!({
                "type": "function_call", "id": "fc_1", "call_id": format!("call_{name}"),
                "namespace": "mcp__outlive", "name": name, "arguments": arguments.to_string(),
            }),
            Some(Move::Say) | None => json!({
                "type": "message", "id": "msg_1", "role": "assistant",
                "content": [{"type": "output_text", "text": "done"}],
            }),
            Some(Move::Hang) => return self.hung.lock().unwrap().push(stream),
        };
        let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
        let mut events = "HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
        for event in [
            json!({"type": "response.created", "response": {"id": "r"}}),
            json!({"type": "response.output_item.done", "item": item}),
            json!({"type": "response.completed", "response": {"id": "r", "usage": usage}}),
        ] {
            let kind = event["type"].as_str().unwrap();
            events.push_str(&format!("event: {kind}\ndata: {event}\n\n"));
        }
        let _ = stream.write_all(events.as_bytes());
    }

    /// The result of the last call.
    fn result(&self) -> String {
        let heard = self.heard.lock().unwrap();
        let output = heard.last().unwrap()["output"].clone();
        output.as_str().unwrap_or_default().to_owned()
    }
}

fn read(stream: &TcpStream) -> (String, Value) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let header = header.trim_end().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (line, serde_json::from_slice(&body).unwrap_or_default())
}

/// The path of the program, which is installed if it is missing.
fn install() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codex");
    let found = |directory: &Path| find(&directory.join("node_modules"), 8);
    if let Some(program) = found(&directory) {
        return program;
    }
    fs::create_dir_all(&directory).unwrap();
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(&directory)
        .arg(PACKAGE)
        .output()
        .unwrap();
    assert!(npm.status.success(), "{npm:?}");
    found(&directory).unwrap()
}

fn find(directory: &Path, depth: usize) -> Option<PathBuf> {
    for entry in fs::read_dir(directory).ok()?.flatten() {
        let (path, kind) = (entry.path(), entry.file_type().ok()?);
        if kind.is_file() && path.ends_with("bin/codex") {
            return Some(path);
        }
        if kind.is_dir() && depth > 0 {
            let below = find(&path, depth - 1);
            if below.is_some() {
                return below;
            }
        }
    }
    None
}

fn configure(world: &World, port: u16) {
    let home = world.path("codex");
    fs::create_dir_all(&home).unwrap();
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"loop\"\n\
         [model_providers.loop]\nname = \"loop\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
         wire_api = \"responses\"\nenv_key = \"LOOP_KEY\"\n\
         [mcp_servers.outlive]\ncommand = {:?}\nargs = [\"mcp\"]\nenv = {{ OUTLIVE_HOME = {:?} }}\n",
        outlive_testkit::programs::outlive(),
        world.home().display().to_string(),
    );
    fs::write(home.join("config.toml"), config).unwrap();
}

fn codex(world: &World, program: &Path, words: &[&str]) -> Child {
    world
        .within(program.to_str().unwrap(), ["exec", "--skip-git-repo-check"])
        .arg("--dangerously-bypass-approvals-and-sandbox")
        .args(words)
        .env("CODEX_HOME", world.path("codex"))
        .env("LOOP_KEY", "none")
        .current_dir(world.path("codex"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "installs Codex with npm"]
fn a_killed_codexs_job_is_told_once_to_the_next_one_of_its_thread() {
    let program = install();
    let world = World::new();
    let model = Model::default();
    configure(&world, model.serve());
    let play = |moves: Vec<Move>| model.script.lock().unwrap().extend(moves);
    let gate = world.path("gate");
    let command = format!(
        "until [ -e {} ]; do sleep 0.02; done; exit 3",
        gate.display()
    );

    play(vec![
        Move::Call("run", json!({"command": command})),
        Move::Hang,
    ]);
    let mut killed = codex(&world, &program, &["start it"]);
    until("the model hears of the job", || {
        !model.hung.lock().unwrap().is_empty()
    });
    assert!(model.result().contains("running"), "{}", model.result());
    killed.kill().unwrap();
    killed.wait().unwrap();
    let id = world.listed(&["--state", "running"]).remove(0);
    let thread = world.show(&id)["session"].as_str().unwrap().to_owned();
    fs::write(&gate, "").unwrap();
    world.until_over(&id);

    for tells in [true, false] {
        play(vec![Move::Call("jobs", json!({})), Move::Say]);
        let mut next = codex(&world, &program, &["resume", &thread, "go on"]);
        assert!(next.wait().unwrap().success());
        let result = model.result();
        assert!(result.contains(&id), "{result}");
        assert_eq!(result.contains("\"kind\":\"ended\""), tells, "{result}");
    }
}
