//! `log --follow`, `run --wait` and `run --follow`.

use super::follower::Follower;
use outlive_testkit::checks::{assert_same_bytes, keepings, until_output};
use outlive_testkit::processes::{KILL, is_alive, kill, kill_for_good};
use outlive_testkit::scripts::{WAITS, let_go, numbers, start, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
fn log_follow_prints_what_comes_as_it_comes_and_ends_with_the_job() {
    let world = World::new();
    let id = start(
        &world,
        &format!("echo one; {WAITS} printf 'two\\nno newline'; exit 7"),
    );
    until_output(&world, &id, "one\n");
    let mut log = Follower::start(world.command(["log", &id, "--follow"]));
    assert_eq!(log.line(), "one\n");
    log.until_blocked();
    assert!(log.child.try_wait().unwrap().is_none());
    let_go(&world);
    assert_eq!(log.line(), "two\n");
    assert_eq!(log.rest(), (b"no newline".to_vec(), 0));
}

#[test]
fn log_follow_of_an_ended_job_prints_it_all_and_ends() {
    let world = World::new();
    let id = world.shell("seq 1 100; exit 3");
    world.wait(&id);
    let ran = world.outlive(&["log", &id, "--follow"]);
    assert_eq!(ran.code, 0);
    assert_same_bytes("log", ran.stdout.as_bytes(), &numbers(100));
}

#[test]
fn log_follow_survives_its_keeper_and_then_both() {
    let world = World::new();
    let id = start(&world, &format!("echo up; {WAITS} seq 1 100000; exit 7"));
    until_output(&world, &id, "up\n");
    let mut log = Follower::start(world.command(["log", &id, "--follow"]));
    assert_eq!(log.line(), "up\n");
    log.until_blocked();
    kill_for_good(world.pair(&id).keeper);
    until("the standby took over", || keepings(&world, &id).len() == 2);
    log.until_blocked();
    world.kill_both(&id);
    until("the follower adopted it", || {
        keepings(&world, &id).len() == 3
    });
    let_go(&world);
    let (bytes, code) = log.rest();
    assert_same_bytes("followed", &bytes, &numbers(100_000));
    assert_eq!(code, 0);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over", "adopted"]);
    assert_eq!(world.outlive(&["wait", &id]).code, 7);
}

#[test]
fn log_follow_prints_a_fast_stream_exactly_while_its_keeper_is_killed() {
    let world = World::new();
    let id = start(&world, &format!("{WAITS} seq 1 300000"));
    let log = Follower::start(world.command(["log", &id, "--follow"]));
    log.until_blocked();
    let_go(&world);
    until("it streams", || !world.output(&id).is_empty());
    kill(world.pair(&id).keeper, KILL);
    let (bytes, code) = log.rest();
    assert_same_bytes("followed", &bytes, &numbers(300_000));
    assert_eq!(code, 0);
}

#[test]
fn run_wait_and_run_follow_give_the_output_and_the_code() {
    for option in ["--wait", "--follow"] {
        let world = World::new();
        let script = "seq 1 50000; printf end; exit 9";
        let ran = world.outlive(&["run", option, "--shell", script]);
        assert_eq!(ran.code, 9, "{option}: {}", ran.stderr);
        let expected = [numbers(50_000), b"end".to_vec()].concat();
        assert_same_bytes(option, ran.stdout.as_bytes(), &expected);
    }
    let world = World::new();
    let ran = world.outlive(&["run", "--wait", "--shell", "kill -KILL $$"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (137, ""));
}

#[test]
fn run_wait_prints_output_as_it_comes_and_survives_both() {
    let world = World::new();
    let script = format!("echo up; {WAITS} echo end; exit 7");
    let args = ["run", "--id", "job", "--wait", "--shell", &script];
    let mut run = Follower::start(with_go(&world, &args));
    assert_eq!(run.line(), "up\n");
    run.until_blocked();
    world.kill_both("job");
    until("it was adopted", || keepings(&world, "job").len() == 2);
    let_go(&world);
    assert_eq!(run.rest(), (b"end\n".to_vec(), 7));
}

#[test]
fn run_wait_that_is_killed_leaves_the_job_running() {
    let world = World::new();
    let script = format!("echo up; {WAITS} echo end; exit 7");
    let args = ["run", "--id", "job", "--wait", "--shell", &script];
    let mut run = Follower::start(with_go(&world, &args));
    assert_eq!(run.line(), "up\n");
    kill_for_good(run.child.id() as i32);
    run.child.wait().unwrap();
    assert_eq!(world.show("job")["state"], "running");
    let_go(&world);
    assert_eq!(world.outlive(&["wait", "job"]).code, 7);
    assert_eq!(world.output("job"), b"up\nend\n");
    assert_eq!(keepings(&world, "job"), ["launched"]);
}

#[test]
fn run_wait_with_a_limit_yields_a_job_that_goes_on() {
    let world = World::new();
    let begun = Instant::now();
    let ran = world.outlive(&["run", "--id", "job", "--wait=300ms", "--", "sleep", "60"]);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(ran.code, 124, "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("job continues"), "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["state"], "running");
    assert!(is_alive(world.leader("job")));
}

#[test]
fn run_wait_with_a_limit_that_is_not_needed_ends_with_the_job() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait=30s", "--shell", "echo hello; exit 4"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "hello\n"));
}

#[test]
fn run_wait_in_json_prints_one_job_and_no_output() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait", "--json", "--shell", "echo hello; exit 4"]);
    assert_eq!(ran.code, 4);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "ended");
    assert_eq!(job["exit_code"], 4);
    assert_eq!(job["output"]["bytes"], 6);
    let ran = world.outlive(&["run", "--wait=100ms", "--json", "--", "sleep", "60"]);
    assert_eq!(ran.code, 124);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["state"], "running");
    assert_eq!(job["outcome"], Value::Null);
}
