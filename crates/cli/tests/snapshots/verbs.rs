//! The text that each verb prints.

use crate::session::Session;
use crate::snapshot::assert_snapshot;

#[test]
fn a_job_from_start_to_end() {
    let mut session = Session::new();
    session.types(
        "run --name build --shell 'echo compiling; echo \"undefined symbol: foo\" >&2; exit 2'",
    );
    session.types("wait build");
    session.types("list");
    session.types("show build");
    session.types("log build");
    session.types("log build --lines 1");
    session.types("log build --grep symbol");
    session.types("stop build");
    session.types("prune");
    session.types("prune --all");
    session.types("list");
    assert_snapshot("verbs/a_job", &session.transcript());
}

#[test]
fn run() {
    let mut session = Session::new();
    session.types("run --wait --shell 'echo hello'");
    session.types("run --wait --shell 'echo hello; exit 3'");
    session.types("run --wait --shell 'kill -9 $$'");
    session.types("run --wait=0.3s --name slow -- sleep 300");
    session.types("run --unless-running --name slow2 -- sleep 300");
    session.types(
        "run --name web --ready line:listening --wait-ready --shell 'echo listening; sleep 300'",
    );
    session.types("run --ready line:listening --wait-ready=0.3s -- sleep 301");
    session.types("run --ready line:listening --wait-ready -- true");
    session.types("run --foreground -- echo hello");
    session.types("run --timeout 0.2s --wait -- sleep 302");
    session.types("detach logs/build.log -- sleep 303");
    assert_snapshot("verbs/run", &session.transcript());
}

#[test]
fn list() {
    let mut session = Session::new();
    session.types("list");
    session.does("run --name failed --wait -- false");
    session.does("run --name killed --wait --shell 'kill -9 $$'");
    session.does("run --name build --lock compiler -- sleep 300");
    session.does("run --name test --lock compiler -- sleep 300");
    session.does("run --name left --wait --shell 'setsid sleep 300 & exit 0'");
    session.does("run --name asks --pty --watch x --shell 'read -r answer'");
    session.does("wait asks --for input");
    session.types("list");
    session.types("list --state running");
    session.types("show test");
    session.types("show asks");
    session.types("stop left");
    assert_snapshot("verbs/list", &session.transcript());
}

#[test]
fn wait_and_stop() {
    let mut session = Session::new();
    session.does("run --name api -- sleep 300");
    session.does("run --name worker -- sleep 300");
    session.types("wait api --timeout 0.2s");
    session.types("signal api USR1");
    session.types("wait api");
    session.types("stop worker");
    session.types("stop api worker");
    session.types("wait --any api worker");
    session.does("run --name watched --watch ERROR --shell 'echo ERROR: no such table; sleep 300'");
    session.types("wait watched --for match");
    assert_snapshot("verbs/wait_and_stop", &session.transcript());
}

#[test]
fn changing() {
    let mut session = Session::new();
    session.does("run --name web --label suite=unit --as 'the web server' --timeout 2h --notify failure --shell 'echo ERROR 1; echo up; sleep 300'");
    session.types("label web owner=ci suite-");
    session.types("label web");
    session.types("watch web");
    session.types("watch web ERROR --regex 'warn.*' --limit 5");
    session.types("show web");
    session.types("list --label owner=ci --preview=1");
    session.types("stop --label nobody");
    session.types("signal --label nobody TERM");
    session.types("stop");
    session.types("stop --label owner --by 'the nightly run'");
    session.types("watch web more");
    session.types("label web no-pair");
    session.types("prune --label owner");
    assert_snapshot("verbs/changing", &session.transcript());
}

#[test]
fn input() {
    let mut session = Session::new();
    session.does("run --name filter --stdin pipe -- cat");
    session.types("send filter hello --enter");
    session.types("send filter again --enter --write-id w1");
    session.types("send filter again --enter --write-id w1");
    session.types("send filter --eof");
    session.types("wait filter");
    session.types("log filter");
    session
        .does("run --name screen --pty=4x20 --shell 'printf \"name? \"; read -r name; sleep 300'");
    session.does("wait screen --for input");
    session.types("log screen --screen");
    session.types("resize screen 10x40");
    assert_snapshot("verbs/input", &session.transcript());
}

#[test]
fn log() {
    let mut session = Session::new();
    session.does("run --name long --wait -- seq 1 1000");
    session.types("log long --offset 400 --lines 3");
    session.types("log long --budget 60");
    session.types("log long --bytes 0:8");
    session.does("run --name bounded --max-output 64K --wait --shell 'seq 1 100000'");
    session.types("log bounded --lines 2");
    assert_snapshot("verbs/log", &session.transcript());
}

const ME: (&str, &str) = ("OUTLIVE_SESSION", "me");

#[test]
fn inbox() {
    let mut session = Session::new();
    session.types_in(&[ME], "inbox");
    session.types_in(&[ME], "inbox --wait=0.1s");
    session.types_in(&[ME], "run --name build --shell 'echo compiling; exit 2'");
    session.until("list --session me", "exited 2");
    session.types_in(&[ME], "inbox --peek");
    session.types_in(&[ME], "inbox");
    session.has("work/done.json", r#"{"goal": "Find the bug", "status": "done", "summary": "It was a typo.", "duration_seconds": 90}"#);
    session.types_in(&[ME], "post done.json --id d1");
    session.types_in(&[ME], "post done.json --id d1");
    session.types_in(&[ME], "inbox --ack-all");
    session.does("run --session me --name server -- sleep 300");
    session.types_in(&[ME], "session end me");
    session.types_in(&[ME], "session end me --drop --stop");
    assert_snapshot("verbs/inbox", &session.transcript());
}

#[test]
fn events() {
    let mut session = Session::new();
    session.does("run --session me --name web --ready line:listening --quiet-after 0.6s --watch ERROR --shell 'echo listening; sleep 0.2; echo ERROR: bad; sleep 300'");
    session.until("inbox --session me --peek", "nothing for");
    session
        .does("run --session me --name asks --pty --shell 'printf \"Continue? \"; read -r answer'");
    session.until("inbox --session me --peek", "waits for a line");
    session.does("run --session me --name slow --timeout 0.2s -- sleep 300");
    session.until("inbox --session me --peek", "(slow)");
    session.types_in(&[ME], "inbox --wait=1s --ack-all");
    assert_snapshot("verbs/events", &session.transcript());
}

#[test]
fn doorbells() {
    let mut session = Session::new();
    session.types("doorbell list");
    session.has(
        ".config/outlive/config.toml",
        "[[doorbell]]\nname = \"mail\"\nkind = \"command\"\ncommand = \"cat >/dev/null\"\n\n[[doorbell]]\nname = \"ops\"\nkind = \"webhook\"\nurl = \"https://ops.example/hook\"\non = \"failure\"\n",
    );
    session.types("doorbell list");
    session.types("doorbell test mail");
    session.types("doorbell test nobody");
    assert_snapshot("verbs/doorbells", &session.transcript());
}

#[test]
fn setup() {
    let mut session = Session::new();
    session.has(".claude.json", "{}\n");
    session.types("setup");
    session.types("setup claude-code --dry-run");
    session.types("setup claude-code");
    session.types("setup claude-code --yes");
    session.types("setup claude-code --yes");
    session.types("setup claude-code --undo");
    assert_snapshot("verbs/setup", &session.transcript());
}

/// The results depend on the machine; the names of the checks do not.
#[test]
fn doctor() {
    let mut session = Session::new();
    let report = session.does("doctor");
    let names: Vec<&str> = report
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.get(7..22).unwrap_or_default().trim())
        .collect();
    assert_snapshot("verbs/doctor", &(names.join("\n") + "\n"));
}
