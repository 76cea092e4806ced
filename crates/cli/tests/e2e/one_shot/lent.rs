//! A sandbox that another program lends.

use super::{assert_exact, start};
use outlive_testkit::places::Lent;
use outlive_testkit::places::one_shot::{Ways, configure};
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn lent(ways: Ways, options: &[&'static str]) -> (Arc<Lent>, World) {
    let lent = Arc::new(Lent::with(ways, options));
    (lent.clone(), World::at(lent))
}

#[test]
fn what_nobody_lends_is_not_reached() {
    let world = World::new();
    configure(&world.path(""), "caller:box", "reach = \"2s\"").unwrap();
    let ran = world.outlive(&["run", "--place", "box", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("nobody lends it now"), "{ran:?}");
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
}

#[test]
fn jobs_go_on_when_it_is_lent_again() {
    let (harness, world) = lent(Ways::default(), &["--input"]);
    let go = world.path_there("go");
    let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
    start(&world, "job", &format!("{wait}; exit 7"));
    let waiter = begin(world.command(["wait", "job"]));
    let scratch = world.path_there("");
    harness.die(&scratch);
    until("it is not reached", || {
        world.show("job")["state"] == "unreachable"
    });
    let job = world.show("job");
    let reason = job["unreachable"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("nobody lends it now"), "{job}");
    assert_eq!(job["last"]["state"], "running", "{job}");
    let sent = world.outlive(&["send", "job", "x"]);
    assert_eq!(sent.code, 125, "{sent:?}");
    world.place().write(&go, b"").unwrap();
    // Whoever waits hears of it at once, whenever the next attempt would be.
    std::thread::sleep(Duration::from_secs(3));
    let begun = Instant::now();
    harness.lend(&world.home(), &scratch).unwrap();
    assert_eq!(Ran::end_of(waiter).code, 7);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_exact(&world, "job", 7, b"");
}

#[test]
fn a_lender_may_do_what_services_do() {
    let ways = Ways::of("noise=1 merge=1 ascii=1 cut=16384 lose=10 twice=10 break=5 seed=5");
    let (_harness, world) = lent(ways, &["--serial"]);
    start(&world, "job", "cat; seq 1 1000; exit 7");
    world.ok(&["send", "job", "one", "--enter", "--eof"]);
    let output = [
        b"one\n".as_slice(),
        &outlive_testkit::scripts::numbers(1000),
    ]
    .concat();
    assert_exact(&world, "job", 7, &output);
}

/// A harness that the test plays itself.
struct Harness {
    child: Child,
    lines: Box<dyn Iterator<Item = Value>>,
}

impl Harness {
    fn lend(world: &World) -> Harness {
        let mut command = world.command(["place", "lend", "box"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let first = lines.next().unwrap();
        assert_eq!(first, json!({"lent": {"place": "caller:box"}}));
        Harness {
            child,
            lines: Box::new(lines),
        }
    }

    fn answer(&mut self, result: &Value) {
        let mut input = self.child.stdin.as_ref().unwrap();
        writeln!(input, "{}", json!({ "result": result })).unwrap();
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn world_with_caller() -> World {
    let world = World::new();
    configure(&world.path(""), "caller:box", "reach = \"20s\"").unwrap();
    world
}

/// Whoever waits for the place asks as soon as somebody listens.
#[test]
fn the_first_line_says_that_it_is_lent() {
    let world = world_with_caller();
    let mut waiters = Vec::new();
    for number in 0..3 {
        let id = format!("job-{number}");
        waiters.push(begin(
            world.command(["run", "--place", "box", "--id", &id, "--", "true"]),
        ));
    }
    for _ in 0..10 {
        // It checks the first line.
        drop(Harness::lend(&world));
    }
    for mut waiter in waiters {
        waiter.kill().unwrap();
        waiter.wait().unwrap();
    }
}

#[test]
fn a_sandbox_that_is_gone_is_said_to_be_so() {
    let world = world_with_caller();
    let mut harness = Harness::lend(&world);
    let mut run = world.command(["run", "--place", "box", "--", "true"]);
    let run = begin({
        run.stderr(Stdio::piped());
        run
    });
    let asked = harness.lines.next().unwrap();
    let id = &asked["execute"]["id"];
    assert!(
        asked["execute"]["command"]
            .as_str()
            .unwrap()
            .starts_with("sh -c '"),
        "{asked}"
    );
    assert!(
        asked["execute"]["timeout_ms"].as_u64().unwrap() > 1000,
        "{asked}"
    );
    harness.answer(&json!({"id": id, "error": "it was stopped by its owner", "gone": true}));
    let ran = Ran::end_of(run);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(
        ran.stderr.contains("it was stopped by its owner"),
        "{ran:?}"
    );
}

#[test]
fn a_command_that_nobody_waits_for_is_called_off() {
    let world = world_with_caller();
    let mut harness = Harness::lend(&world);
    let run = begin(world.command(["run", "--place", "box", "--", "true"]));
    let asked = harness.lines.next().unwrap();
    world.kill_couriers();
    // The near end of the tunnel leaves with its courier, and the next one asks again.
    let cancelled = harness.lines.find(|line| line.get("cancel").is_some());
    assert_eq!(cancelled.unwrap()["cancel"]["id"], asked["execute"]["id"]);
    drop(harness);
    drop(run);
}

#[test]
fn a_name_is_lent_by_one_process() {
    let world = world_with_caller();
    let harness = Harness::lend(&world);
    let second = world.outlive(&["place", "lend", "box"]);
    assert_eq!(second.code, 125, "{second:?}");
    assert!(
        second.stderr.contains("is lent by another process"),
        "{second:?}"
    );
    drop(harness);
    Harness::lend(&world);
}

#[test]
fn a_line_that_is_no_result_ends_the_lending() {
    let world = world_with_caller();
    let mut harness = Harness::lend(&world);
    let mut input = harness.child.stdin.take().unwrap();
    writeln!(input, "hello").unwrap();
    let status = harness.child.wait().unwrap();
    assert_eq!(status.code(), Some(2));
}

/// What the harness of the documentation needs: a sandbox, and what a program has anyway.
const BEFORE: &str = "\
import json, subprocess, sys, threading
from subprocess import PIPE
lock = threading.Lock()
class Sandbox:
    def execute(self, command, timeout):
        done = subprocess.run(['env', '-i', 'PATH=/usr/bin:/bin', 'HOME=' + sys.argv[1], 'sh', '-c', command],
                              stdout=PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        return done.stdout.decode(errors='replace')
sandbox = Sandbox()
";

#[test]
fn the_harness_of_the_documentation_lends_its_sandbox() {
    needs!(Python);
    let root = env!("CARGO_MANIFEST_DIR");
    let docs = std::fs::read_to_string(format!("{root}/../../docs/places.md")).unwrap();
    let (_, code) = docs.split_once("```python\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    let world = world_with_caller();
    std::fs::create_dir(world.path("there")).unwrap();
    // `python3 -c` with the programs under test first in its path.
    let programs = outlive_testkit::programs::directory();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        [programs.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&path)),
    );
    let mut python = world.within("python3", ["-c", &format!("{BEFORE}{code}")]);
    python.arg(world.path("there")).env("PATH", path.unwrap());
    let mut python = begin(python);
    let lent = world
        .path("home/places")
        .join("caller%3abox")
        .join("lender");
    until("it lends", || lent.exists());
    let script = "seq 1 100; exit 5";
    let ran = world.outlive(&["run", "--place", "box", "--id", "job", "--shell", script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.outlive(&["wait", "job"]).code, 5);
    world.kill_couriers();
    python.kill().unwrap();
    python.wait().unwrap();
    // Its child reads the end of its input.
    until("nobody lends", || !lent.exists());
    outlive_testkit::couriers::kill_all(&outlive_testkit::couriers::far_ends_at(
        &world.path("there"),
    ));
}
