//! Processes that outlive their job's command.

use super::{linked, only_end};
use outlive_testkit::checks::{exited, until_output};
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{is_alive, pid_in};
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// A script that leaves a process behind, which writes, waits for `go`, writes again and stays.
fn leaves_one_behind(world: &World) -> String {
    format!(
        "setsid sh -c 'echo early; {}; echo late; exec sleep 60' & exit 0",
        loop_until(&world.path("go"))
    )
}

#[test]
fn a_process_that_keeps_the_output_open_does_not_delay_the_end() {
    let world = World::new();
    let id = world.shell(&leaves_one_behind(&world));
    let job = world.wait(&id);
    assert_eq!(job["outcome"], exited(0));
    assert_eq!(job["ended_by"], "itself");
    let shown = world.show(&id);
    assert_eq!(shown["state"], "ended");
    assert!(shown["lingering"].as_u64().unwrap() >= 1, "{shown}");
    assert!(only_end(&world, &id)["lingering"].as_u64().unwrap() >= 1);
    assert!(linked(&world, &id), "what lingers is still looked after");
}

#[test]
fn output_of_a_lingering_process_is_kept() {
    let world = World::new();
    let id = world.shell(&leaves_one_behind(&world));
    world.wait(&id);
    until_output(&world, &id, "early\n");
    fs::write(world.path("go"), "").unwrap();
    until_output(&world, &id, "early\nlate\n");
    assert_eq!(world.show(&id)["output"]["bytes"], 11);
    assert_eq!(world.ok(&["log", &id]), "early\nlate");
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn stop_ends_lingering_processes_and_does_not_change_the_outcome() {
    let world = World::new();
    let id = world.shell(&leaves_one_behind(&world));
    let before = world.wait(&id);
    until_output(&world, &id, "early\n");
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("left behind"), "{ran:?}");
    let after = world.show(&id);
    assert_eq!(after["lingering"], 0);
    for key in ["outcome", "ended_by", "ended_at", "duration_ms", "usage"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
    assert_eq!(world.events(&id, "closed").len(), 1);
    world.until_nothing_runs();
    assert!(!linked(&world, &id));
}

#[test]
fn a_lingering_process_that_ends_by_itself_closes_the_job() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell(&format!(
        "(setsid sh -c '{}' &); exit 2",
        gate.then("echo bye")
    ));
    assert_eq!(world.wait(&id)["exit_code"], 2);
    assert_eq!(world.show(&id)["lingering"], 1);
    gate.open();
    until("the job is closed", || {
        world.events(&id, "closed").len() == 1
    });
    let job = world.show(&id);
    assert_eq!(job["lingering"], 0);
    assert_eq!(job["exit_code"], 2);
    assert_eq!(job["output"]["bytes"], 4);
    assert_eq!(world.output(&id), b"bye\n");
    world.until_nothing_runs();
}

/// Runs a job that leaves a process behind and ends with `code`. That process runs `first`, writes its pid, and runs
/// `rest`.
fn leaving(world: &World, options: [&str; 4], first: &str, rest: &str, code: i32) -> Left {
    let pid = world.path("pid");
    let script = format!(
        "setsid bash -c '{first} echo $$ > {pid}; {rest}' & until [ -s {pid} ]; do sleep 0.01; done; exit {code}",
        pid = pid.display()
    );
    let id = world.ok(&[&["run"], &options[..], &["--shell", &script]].concat());
    let job = world.wait(&id);
    let pid = pid_in(&pid);
    Left { id, job, pid }
}

struct Left {
    id: String,
    job: Value,
    pid: i32,
}

#[test]
fn leftovers_stop_ends_every_process_that_the_leader_leaves_behind() {
    let world = World::new();
    let Left { id, job, pid } = leaving(
        &world,
        ["--leftovers", "stop", "--grace", "20s"],
        "trap \"echo asked; exit\" TERM;",
        "while :; do sleep 0.05; done",
        9,
    );
    assert_eq!(job["outcome"], exited(9));
    assert_eq!(job["ended_by"], "itself");
    world.until_nothing_runs();
    assert!(!is_alive(pid));
    // The shell may also print a message about the end of its `sleep`.
    assert!(world.output(&id).ends_with(b"asked\n"));
    assert_eq!(world.show(&id)["lingering"], 0);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}

#[test]
fn leftovers_stop_kills_after_the_grace() {
    let world = World::new();
    let options = ["--leftovers", "stop", "--grace", "200ms"];
    let left = leaving(&world, options, "trap \"\" TERM;", "exec sleep 60", 0);
    assert_eq!(left.job["exit_code"], 0);
    world.until_nothing_runs();
    assert!(!is_alive(left.pid));
    assert_eq!(world.show(&left.id)["lingering"], 0);
}

#[test]
fn leftovers_are_kept_unless_asked_otherwise() {
    let world = World::new();
    let options = ["--leftovers", "keep", "--grace", "0"];
    let left = leaving(&world, options, "", "exec sleep 60", 0);
    assert_eq!(world.show(&left.id)["lingering"], 1);
    assert!(is_alive(left.pid));
}
