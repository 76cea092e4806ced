//! Tests that ports and URLs are probed for readiness, also after keepers and probes were killed.

use super::ready::{free_port, server};
use super::{inbox_of, run};
use outlive_sys::process;
use outlive_testkit::checks::keepings;
use outlive_testkit::processes::{NONE_BLOCKED, blocked_signals, kill_for_good};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// The pids of the probes that work for this home's keepers.
fn probes(world: &World) -> Vec<i32> {
    let is_probe = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == b"probe"))
    };
    world.processes().into_iter().filter(is_probe).collect()
}

/// Starts a job that waits for a port. Its server is not up yet. Returns its ID and the pid of its probe.
fn begin(world: &World) -> (String, i32) {
    let port = free_port();
    let script = format!("{WAITS} {}", server(port, 200));
    let id = run(world, &["--ready", &format!("port:{port}")], &script);
    until("a probe runs", || probes(world).len() == 1);
    let probe = probes(world)[0];
    assert_eq!(blocked_signals(probe), NONE_BLOCKED);
    (id, probe)
}

/// Lets the server start, and checks that readiness is told once and that no probe is left.
fn assert_becomes_ready(world: &World, id: &str) {
    let_go(world);
    let ran = world.outlive(&["wait", id, "--for", "ready", "--timeout", "20s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.events(id, "ready"), [Value::Null]);
    until("no probe is left", || probes(world).is_empty());
    world.ok(&["stop", id]);
    assert_eq!(world.events(id, "ready"), [Value::Null]);
    world.until_nothing_runs();
}

#[test]
fn the_next_keeper_probes_when_one_is_killed_while_probing() {
    let world = World::new();
    let (id, probe) = begin(&world);
    kill_for_good(world.pair(&id).keeper);
    until("its probe is gone", || {
        process::stat(probe).is_none_or(|stat| stat.is_zombie())
    });
    until("another probe runs", || probes(&world).len() == 1);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    until("nobody was told", || inbox_of(&world, "ready").is_empty());
    assert_becomes_ready(&world, &id);
}

#[test]
fn an_adopting_keeper_probes_too() {
    let world = World::new();
    let (id, probe) = begin(&world);
    world.kill_both(&id);
    until("their probe is gone", || {
        process::stat(probe).is_none_or(|stat| stat.is_zombie())
    });
    assert_eq!(probes(&world), [0; 0]);
    assert_eq!(world.show(&id)["ready"], false);
    until("another probe runs", || probes(&world).len() == 1);
    assert_becomes_ready(&world, &id);
}

/// A probe is one of our processes, and may be killed as well.
#[test]
fn a_killed_probe_is_replaced() {
    let world = World::new();
    let (id, probe) = begin(&world);
    kill_for_good(probe);
    until("another probe runs", || {
        probes(&world).iter().any(|pid| *pid != probe)
    });
    assert_becomes_ready(&world, &id);
}

/// The server comes up before the new keeper probes for the first time.
#[test]
fn the_next_keeper_sees_a_server_that_came_up_meanwhile() {
    let world = World::new();
    let (id, _) = begin(&world);
    world.kill_both(&id);
    let_go(&world);
    let leader = world.events(&id, "spawned")[0]["leader"]["pid"]
        .as_i64()
        .unwrap() as i32;
    until("it listens", || !process::sockets(leader).is_empty());
    assert_becomes_ready(&world, &id);
}

#[test]
fn an_ended_job_is_not_probed_though_processes_linger() {
    let world = World::new();
    let port = free_port();
    let id = run(
        &world,
        &["--ready", &format!("port:{port}")],
        &format!("sleep 60 & {WAITS}"),
    );
    until("a probe runs", || probes(&world).len() == 1);
    let_go(&world);
    world.wait(&id);
    until("no probe is left", || probes(&world).is_empty());
    assert_eq!(world.show(&id)["lingering"], 1);
    assert_eq!(world.show(&id)["ready"], false);
}

#[test]
fn a_told_readiness_is_not_told_again() {
    let world = World::new();
    let (id, _) = begin(&world);
    let_go(&world);
    until("it is told", || world.events(&id, "ready").len() == 1);
    kill_for_good(world.pair(&id).keeper);
    until("there is an heir", || keepings(&world, &id).len() == 2);
    kill_for_good(world.pair(&id).keeper);
    assert_eq!(world.show(&id)["ready"], true);
    assert_eq!(inbox_of(&world, "ready").len(), 1);
    assert_becomes_ready(&world, &id);
}
