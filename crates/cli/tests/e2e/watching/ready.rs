//! `--ready`: when a job is ready, and who is told.

use super::{SESSION, inbox_of, run, world};
use outlive_testkit::processes::{begin, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, go, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

/// A port on which no server listens.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A Python program that answers every request on this port with this status.
pub fn server(port: u16, status: u16) -> String {
    format!(
        r#"exec python3 -c '
import http.server, socketserver
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response({status} if self.path == "/health?a=b" else 404)
        self.end_headers()
    def log_message(self, *args): pass
socketserver.TCPServer.allow_reuse_address = True
http.server.HTTPServer(("127.0.0.1", {port}), H).serve_forever()'"#
    )
}

/// Waits until the job is ready, and checks that this is told once.
#[track_caller]
fn assert_becomes_ready(world: &World, id: &str) {
    let args = ["wait", id, "--for", "ready", "--timeout", "20s", "--json"];
    let ran = world.as_session(SESSION, &args);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = ran.job();
    assert_eq!(job["ready"], true, "{job}");
    assert_eq!(world.show(id)["ready"], true);
    assert_eq!(world.events(id, "ready"), [Value::Null]);
}

fn assert_is_not_ready(world: &World, id: &str) {
    let ran = world.outlive(&["wait", id, "--for", "ready", "--timeout", "700ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(world.show(id)["ready"], false);
    assert_eq!(world.events(id, "ready"), [Value::Null; 0]);
}

#[test]
fn a_job_is_ready_when_its_line_appears() {
    let world = world("[watch]\nstill = \"100ms\"\n");
    let script = format!("echo not listening yet; {WAITS} echo Listening on 80; exec sleep 60");
    let id = run(&world, &["--ready", "line:^Listening on \\d+$"], &script);
    assert_eq!(world.show(&id)["ready"], false);
    let waiter = begin(world.command(["wait", &id, "--for", "ready"]));
    until_blocked(waiter.id() as i32);
    let_go(&world);
    assert_eq!(Ran::end_of(waiter).code, 0);
    assert_becomes_ready(&world, &id);
}

#[test]
fn an_unfinished_line_can_be_the_sign_of_readiness() {
    let world = world("[watch]\nstill = \"100ms\"\n");
    let id = run(
        &world,
        &["--ready", "line:^> $"],
        "printf 'hello\\n> '; exec sleep 60",
    );
    assert_becomes_ready(&world, &id);
}

#[test]
fn a_job_is_ready_when_it_listens_on_its_port() {
    needs!(Python);
    let world = World::new();
    let port = free_port();
    let script = format!("{WAITS} {}", server(port, 200));
    let id = run(&world, &["--ready", &format!("port:{port}")], &script);
    assert_is_not_ready(&world, &id);
    let_go(&world);
    assert_becomes_ready(&world, &id);
    until("the probe is gone", || world.processes().len() == 3);
}

/// A server of another program does not make the job ready.
#[test]
fn a_port_that_was_taken_before_counts_once_the_job_listens() {
    needs!(Python);
    let world = World::new();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    // The job listens on another address with the same port.
    let script = format!(
        "{WAITS} exec python3 -c 'import socket, time; s = socket.socket(); s.bind((\"127.0.0.2\", {port})); s.listen(); time.sleep(60)'"
    );
    let id = run(&world, &["--ready", &format!("port:{port}")], &script);
    assert_is_not_ready(&world, &id);
    let_go(&world);
    assert_becomes_ready(&world, &id);
}

#[test]
fn a_job_is_ready_when_its_web_server_answers() {
    needs!(Python);
    let world = World::new();
    let port = free_port();
    let script = format!("{WAITS} {}", server(port, 204));
    let url = format!("http:http://127.0.0.1:{port}/health?a=b");
    let id = run(&world, &["--ready", &url], &script);
    assert_is_not_ready(&world, &id);
    let_go(&world);
    assert_becomes_ready(&world, &id);
}

/// Another job's server uses the port first.
#[test]
fn a_web_server_that_answered_before_counts_once_it_is_the_jobs() {
    needs!(Python);
    let world = World::new();
    let port = free_port();
    let url = format!("http:http://127.0.0.1:{port}/health?a=b");
    let other = run(&world, &["--ready", &url], &server(port, 200));
    assert_becomes_ready(&world, &other);
    let id = run(
        &world,
        &["--ready", &url],
        &format!("{WAITS} {}", server(port, 200)),
    );
    assert_is_not_ready(&world, &id);
    world.ok(&["stop", &other]);
    let_go(&world);
    assert_becomes_ready(&world, &id);
}

/// A proxy answers before the job behind it does, at first with an error.
#[test]
fn a_web_server_that_answered_otherwise_before_counts_as_it_answers_now() {
    let world = World::new();
    let (sender, receiver) = std::sync::mpsc::channel();
    let (url, proxy) = proxy(receiver);
    let id = run(&world, &["--ready", &url], "exec sleep 60");
    assert_is_not_ready(&world, &id);
    sender.send(()).unwrap();
    assert_becomes_ready(&world, &id);
    proxy.join().unwrap();
}

/// A proxy that answers 502 until the test says that the job is well, and then answers 200 once.
fn proxy(well: Receiver<()>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serve = move || {
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let is_well = well.try_recv().is_ok();
            let status = if is_well { "200 OK" } else { "502 Bad Gateway" };
            let _ = stream.read(&mut [0; 1024]);
            write!(stream, "HTTP/1.1 {status}\r\n\r\n").unwrap();
            if is_well {
                return;
            }
        }
    };
    (url, std::thread::spawn(serve))
}

#[test]
fn a_web_server_that_answers_another_status_is_not_ready() {
    needs!(Python);
    let world = World::new();
    let (wrong, port) = (free_port(), free_port());
    let url = |port, rest: &str| format!("http:http://127.0.0.1:{port}/{rest}");
    let failing = run(
        &world,
        &["--ready", &url(wrong, "elsewhere")],
        &server(wrong, 200),
    );
    let right = run(
        &world,
        &["--ready", &url(port, "health?a=b=503")],
        &server(port, 503),
    );
    assert_becomes_ready(&world, &right);
    assert_is_not_ready(&world, &failing);
}

#[test]
fn readiness_is_told_once() {
    let world = World::new();
    let id = run(
        &world,
        &["--ready", "line:up"],
        "echo up; echo up; exec sleep 60",
    );
    until("it is told", || !inbox_of(&world, "ready").is_empty());
    let told = inbox_of(&world, "ready");
    assert_eq!((told.len(), &told[0]["job"]), (1, &json!(id)));
    assert_eq!(told[0]["session"], SESSION);
    assert!(
        told[0]["text"].as_str().unwrap().contains("is ready"),
        "{told:?}"
    );
    assert_becomes_ready(&world, &id);
    assert_eq!(
        inbox_of(&world, "ready"),
        [Value::Null; 0],
        "who waited was told"
    );
}

#[test]
fn without_a_sign_there_is_no_readiness() {
    let world = World::new();
    let id = run(&world, &[], "exec sleep 60");
    assert_eq!(world.show(&id)["ready"], Value::Null);
    world.ok(&["stop", &id]);
    assert_eq!(world.show(&id)["ready"], Value::Null);
}

#[test]
fn run_can_wait_until_it_is_ready() {
    let world = World::new();
    let run = [
        "run",
        "--ready",
        "line:up",
        "--wait-ready",
        "--json",
        "--shell",
    ];
    let job = world.json(&[&run[..], &["sleep 0.2; echo up; exec sleep 60"]].concat());
    assert_eq!(
        (&job["ready"], &job["state"]),
        (&json!(true), &json!("running"))
    );
}

#[test]
fn run_waits_no_longer_than_it_is_asked_to() {
    let world = World::new();
    let script = format!("{WAITS} echo up; exec sleep 60");
    let args = [
        "run",
        "--ready",
        "line:up",
        "--wait-ready=300ms",
        "--shell",
        &script,
    ];
    let ran = Ran::of(world.command(args).env("GO", go(&world)));
    assert_eq!(ran.code, 124, "{ran:?}");
    assert!(ran.stderr.contains("not ready"), "{ran:?}");
    let id = ran.stdout.trim();
    assert_eq!(world.show(id)["state"], "running");
    let_go(&world);
    assert_becomes_ready(&world, id);
}

#[test]
fn an_invalid_sign_of_readiness_is_refused() {
    let world = World::new();
    for bad in [
        "",
        "line:",
        "port:0",
        "port:70000",
        "port:x",
        "http:",
        "https://localhost/",
        "http://a b/",
        "soon",
        "line:(",
        "http://h:99999/",
    ] {
        let ran = world.outlive(&["run", "--ready", bad, "true"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{bad:?}: {ran:?}");
        assert!(!ran.stderr.is_empty(), "{bad:?}");
    }
    let ran = world.outlive(&["run", "--wait-ready", "true"]);
    assert_eq!(ran.code, 2, "there is no sign to wait for: {ran:?}");
    assert_eq!(world.listed(&[]), [""; 0]);
}

/// The text of the end says that the job was never ready.
#[test]
fn the_inbox_says_that_a_job_ended_before_it_was_ready() {
    let world = World::new();
    let run = |id: &str, script: &str| {
        let asked = ["--session", "s", "--ready", "line:^up", "--id", id];
        world.ok(&[&["run"], &asked[..], &["--shell", script]].concat());
        world.until_over(id);
    };
    run("never", "echo no; exit 0");
    run("ready", "echo up; exit 0");
    let inbox = world.json(&["inbox", "--session", "s", "--json"]);
    let text = |id: &str| {
        let mut events = inbox["events"].as_array().unwrap().iter();
        let end = events.find(|event| event["job"] == id && event["kind"] == "ended");
        end.unwrap()["text"].as_str().unwrap().to_owned()
    };
    assert!(
        text("never").contains(r#"It was never ready ("line:^up")."#),
        "{}",
        text("never")
    );
    assert!(!text("ready").contains("never ready"), "{}", text("ready"));
}
