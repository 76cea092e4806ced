//! A host that is gone: what is known here is said without it, and what is not known is not made up.

use super::{assert_exact, counted, over_ssh, told};
use outlive_testkit::couriers::kill_all;
use outlive_testkit::places::Ssh;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::sync::Arc;

/// The server and every connection to it are gone.
fn take_away(ssh: &Ssh, world: &World) {
    let server = ssh.server(&world.path_there(""));
    let sessions = server.sessions();
    server.kill();
    kill_all(&sessions);
    world.kill_transports();
}

fn bring_back(ssh: &Ssh, world: &World) {
    ssh.server(&world.path_there("")).listen().unwrap();
}

/// A job that has ended and one that runs, at a host that is gone.
fn abandoned() -> (Arc<Ssh>, World) {
    let (ssh, world) = over_ssh();
    let script = counted(&world, "done", "seq 1 100; exit 7");
    world.ok(&["run", "--id", "done", "--session", "s", "--shell", &script]);
    world.wait("done");
    let script = counted(&world, "busy", "echo up; cat; exit 3");
    let args = ["run", "--id", "busy", "--session", "s", "--stdin", "pipe"];
    world.ok(&[&args[..], &["--shell", &script]].concat());
    take_away(&ssh, &world);
    (ssh, world)
}

#[test]
fn an_end_that_is_known_here_is_told_without_the_host() {
    needs!(Ssh);
    let (_ssh, world) = abandoned();
    let job = world.show("done");
    assert_eq!(
        (&job["state"], &job["exit_code"]),
        (&"ended".into(), &7.into())
    );
    assert_eq!(world.outlive(&["wait", "done"]).code, 7);
    assert_eq!(world.outlive(&["stop", "done"]).code, 0);
    assert_eq!(told(&world, "s"), ["done ended"]);
    assert_eq!(world.listed(&["--state", "ended"]), ["done"]);
    let text = world.ok(&["show", "done"]);
    assert!(text.contains("exited 7"), "{text}");
}

#[test]
fn a_job_whose_host_is_gone_is_unreachable_and_nothing_is_sent() {
    needs!(Ssh);
    let (ssh, world) = abandoned();
    let job = world.show("busy");
    assert_eq!(job["state"], "unreachable", "{job}");
    assert_eq!(
        (&job["outcome"], &job["exit_code"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(job["last"]["state"], "running", "{job}");
    assert!(
        !job["unreachable"]["reason"].as_str().unwrap().is_empty(),
        "{job}"
    );
    for args in [
        &["stop", "busy"][..],
        &["send", "busy", "text"],
        &["signal", "busy", "USR1"],
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, 125, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("not reached"), "{args:?}: {ran:?}");
    }
    let waited = world.outlive(&["wait", "busy", "--timeout", "1s"]);
    assert_eq!(waited.code, 124, "{waited:?}");
    // Reading an output that cannot be read is an error, and not an empty output.
    let log = world.outlive(&["log", "busy", "--raw", "--bytes", "0:"]);
    assert_eq!((log.code, log.bytes.len()), (125, 0), "{log:?}");
    bring_back(&ssh, &world);
    until("it is reached", || world.show("busy")["state"] == "running");
    world.ok(&["send", "busy", "text", "--eof"]);
    assert_eq!(world.wait("busy")["exit_code"], 3);
    let log = world.outlive(&["log", "busy", "--raw", "--bytes", "0:", "--peek"]);
    assert_eq!(log.stdout, "up\ntext");
}

#[test]
fn the_output_of_an_ended_job_is_read_when_its_host_is_back() {
    needs!(Ssh);
    let (ssh, world) = abandoned();
    let log = world.outlive(&["log", "done", "--raw", "--bytes", "0:", "--peek"]);
    assert_eq!(log.code, 125, "{log:?}");
    bring_back(&ssh, &world);
    assert_exact(&world, "done", 7, &numbers(100));
    world.outlive(&["stop", "busy"]);
}

#[test]
fn who_waits_for_a_host_hears_when_it_is_gone_and_is_told_of_the_end() {
    needs!(Ssh);
    let (ssh, world) = over_ssh();
    let go = world.path_there("go");
    let script = format!(
        "until [ -e '{}' ]; do sleep 0.02; done; exit 9",
        go.display()
    );
    let script = counted(&world, "job", &script);
    world.ok(&["run", "--id", "job", "--session", "s", "--shell", &script]);
    let waiter = begin(world.command(["inbox", "--session", "s", "--wait=120s", "--json"]));
    take_away(&ssh, &world);
    world.place().write(&go, b"").unwrap();
    world.until_nothing_runs();
    bring_back(&ssh, &world);
    let ran = Ran::end_of(waiter);
    assert_eq!(ran.code, 0, "{ran:?}");
    let inbox: Value = serde_json::from_slice(&ran.bytes).unwrap();
    assert_eq!(inbox["events"][0]["kind"], "ended", "{inbox}");
    assert_eq!(inbox["events"][0]["data"]["exit_code"], 9, "{inbox}");
    assert_eq!(told(&world, "s"), [""; 0]);
}

#[test]
fn who_follows_an_output_goes_on_when_the_host_is_back() {
    needs!(Ssh);
    let (ssh, world) = over_ssh();
    let go = world.path_there("go");
    let script = format!(
        "echo before; until [ -e '{}' ]; do sleep 0.02; done; echo after; exit 9",
        go.display()
    );
    let script = counted(&world, "job", &script);
    let run = ["run", "--wait", "--id", "job", "--shell", &script];
    let runner = begin(world.command(run));
    until("the job has begun", || {
        world.outlive(&["log", "job", "--peek"]).stdout == "before\n"
    });
    let followed = world.path("followed");
    let mut follower = world.command(["log", "job", "--follow"]);
    let mut follower = follower
        .stdout(File::create(&followed).unwrap())
        .spawn()
        .unwrap();
    let has_read = |text: &str| fs::read_to_string(&followed).unwrap() == text;
    until("it is followed", || has_read("before\n"));
    take_away(&ssh, &world);
    // By now both have noticed.
    until("the place is not reached", || {
        world.show("job")["state"] == "unreachable"
    });
    world.place().write(&go, b"").unwrap();
    bring_back(&ssh, &world);
    let ran = Ran::end_of(runner);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (9, "before\nafter\n"),
        "{ran:?}"
    );
    assert!(follower.wait().unwrap().success());
    assert!(has_read("before\nafter\n"));
}
