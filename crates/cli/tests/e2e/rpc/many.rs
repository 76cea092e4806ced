//! A thousand outputs through one process, within 1,024 descriptors.

use super::client::Rpc;
use super::following::whole;
use outlive_testkit::gate::Gate;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::process::Command;

/// `outlive rpc` with at most so many open files, which it cannot raise.
fn limited(world: &World, files: usize) -> Rpc {
    let outlive = world.command(["rpc"]);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("ulimit -n {files}; exec \"$@\""), "sh"])
        .arg(outlive.get_program())
        .args(outlive.get_args());
    world.give_environment(&mut command);
    Rpc::of(command)
}

fn open_files(rpc: &Rpc) -> usize {
    fs::read_dir(format!("/proc/{}/fd", rpc.pid()))
        .unwrap()
        .count()
}

#[test]
fn a_thousand_subscriptions_of_one_job_share_a_connection() {
    let world = World::new();
    let mut rpc = limited(&world, 64);
    let gate = Gate::new(&world);
    let job = rpc.shell(&format!("echo on; {}; echo off", gate.then(":")));
    let ids: Vec<i64> = (0..1000)
        .map(|_| rpc.ask("follow_output", json!({"job": job})))
        .collect();
    for id in &ids {
        assert_eq!(rpc.of_request(*id).raw, b"on\n");
    }
    gate.open();
    for id in ids {
        assert_eq!(whole(&mut rpc, id).0, b"off\n");
    }
}

#[test]
fn as_many_jobs_are_followed_as_files_may_be_open_and_more_still_work() {
    let world = World::new();
    // 40 of them can be connected to, and the others are read once a second.
    let mut rpc = limited(&world, 64);
    let gate = Gate::new(&world);
    let script = format!("echo on; {}; echo off", gate.then(":"));
    let jobs: Vec<String> = (0..60).map(|_| rpc.shell(&script)).collect();
    let ids: Vec<i64> = jobs
        .iter()
        .map(|job| rpc.ask("follow_output", json!({"job": job})))
        .collect();
    for id in &ids {
        assert_eq!(rpc.of_request(*id).raw, b"on\n");
    }
    assert!(open_files(&rpc) <= 64);
    assert_eq!(
        rpc.reply("show", json!({"job": jobs[0]}))["state"],
        "running"
    );
    gate.open();
    for id in ids {
        assert_eq!(whole(&mut rpc, id).0, b"off\n");
    }
}

#[test]
fn many_waits_share_connections_with_what_is_followed() {
    let world = World::new();
    let mut rpc = limited(&world, 64);
    let gate = Gate::new(&world);
    let jobs: Vec<String> = (0..20)
        .map(|number| rpc.shell(&format!("{}; exit {number}", gate.then(":"))))
        .collect();
    let waits: Vec<i64> = (0..200)
        .map(|number| rpc.ask("wait", json!({"jobs": [jobs[number % 20]]})))
        .collect();
    let outputs: Vec<i64> = jobs
        .iter()
        .map(|job| rpc.ask("follow_output", json!({"job": job})))
        .collect();
    gate.open();
    for (number, id) in waits.into_iter().enumerate() {
        let answer = rpc.answer(id);
        assert_eq!(
            answer["reply"]["jobs"][0]["exit_code"],
            number % 20,
            "{answer}"
        );
    }
    outputs.into_iter().for_each(|id| drop(whole(&mut rpc, id)));
}
