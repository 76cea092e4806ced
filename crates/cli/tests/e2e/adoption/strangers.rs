//! Processes of another boot, or with a reused pid, are not touched.

use super::{keepers, leader, rewrite, running, unkept};
use outlive_sys::process;
use outlive_testkit::checks::{assert_nothing_is_left, every, keepings};
use outlive_testkit::processes::is_alive;
use outlive_testkit::scripts::{WAITS, let_go, start};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Command, Stdio};

/// Rewrites the journal as if the job had been started before a restart of the machine.
fn as_if_restarted(world: &World, id: &str) {
    rewrite(world, id, "accepted", |accepted| {
        accepted["boot"] = json!("00000000-0000-0000-0000-000000000000")
    });
}

#[test]
fn after_a_restart_a_running_job_is_lost_and_its_pid_is_not_touched() {
    let world = World::new();
    let id = unkept(&world, "exec sleep 60");
    let leader = leader(&world, &id);
    as_if_restarted(&world, &id);
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(
        job["outcome"],
        json!({ "kind": "lost", "reason": "the machine was restarted while it ran" })
    );
    assert_eq!(job["exit_code"], Value::Null);
    assert_eq!(job["pid"], leader);
    assert_eq!(world.outlive(&["wait", &id]).code, 125);
    world.ok(&["stop", &id]);
    assert_eq!(world.outlive(&["signal", &id, "KILL"]).code, 125);
    assert!(is_alive(leader), "a process of this boot was harmed");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(keepings(&world, &id), ["launched"]);
    assert!(keepers(&world).is_empty());
}

#[test]
fn after_a_restart_lingering_processes_are_gone_and_their_pids_are_not_touched() {
    let world = World::new();
    let id = start(&world, "sleep 60 & exit 5");
    assert_eq!(world.outlive(&["wait", &id]).code, 5);
    world.kill_both(&id);
    let sleeping = running(&world, "sleep");
    assert_eq!(sleeping.len(), 1);
    as_if_restarted(&world, &id);
    let job = world.job(&["stop", &id, "--json"]);
    assert_eq!(job["exit_code"], 5);
    assert_eq!(job["lingering"], 0);
    assert!(is_alive(sleeping[0]), "a process of this boot was harmed");
    assert!(keepers(&world).is_empty());
}

/// A process that has nothing to do with Outlive.
struct Bystander(Child);

impl Bystander {
    fn start(command: &[&str]) -> Bystander {
        let child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let bystander = Bystander(child);
        until("the bystander sleeps", || {
            fs::read(format!("/proc/{}/comm", bystander.pid())).is_ok_and(|name| name == b"sleep\n")
        });
        bystander
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The leader ended while no keeper was alive, and its pid now belongs to a process that started later.
#[test]
fn a_reused_pid_is_not_mistaken_for_the_job() {
    let bystanders: [(&str, &[&str]); 2] = [
        ("a process", &["sleep", "600"]),
        ("a session leader", &["setsid", "sleep", "600"]),
    ];
    every(
        &bystanders,
        |bystander| bystander.0.to_owned(),
        |(_, command)| {
            let world = World::new();
            let id = unkept(&world, &format!("{WAITS} exit 0"));
            let gone = leader(&world, &id);
            let_go(&world);
            until("its process is gone", || process::stat(gone).is_none());
            let bystander = Bystander::start(command);
            let started = process::stat(bystander.pid()).unwrap().started;
            rewrite(&world, &id, "spawned", |spawned| {
                spawned["leader"] = json!({ "pid": bystander.pid(), "started": started - 1 });
            });
            let job = world.show(&id);
            assert_eq!(job["outcome"]["kind"], "lost", "{job}");
            assert_eq!(job["lingering"], 0, "{job}");
            assert_eq!(world.outlive(&["wait", &id]).code, 125);
            assert_eq!(world.outlive(&["signal", &id, "KILL"]).code, 125);
            world.ok(&["stop", &id]);
            assert!(is_alive(bystander.pid()), "the bystander was harmed");
            assert_nothing_is_left(&world, &id);
        },
    );
}
