//! Doorbells ring for an end that no keeper saw, as soon as a verb finds it.

use super::{Heard, end_of, until_stands};
use crate::adoption::rewrite;
use outlive_testkit::processes::is_alive;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

fn assert_heard(world: &World, heard: &Heard, kind: &str) {
    until_stands(world, "job", "rung", 1);
    world.until_over("job");
    let events = heard.events();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["event"], end_of(world, "job").as_str());
    assert_eq!(events[0]["data"]["outcome"]["kind"], kind);
    assert_eq!(world.listed(&[]), ["job"]);
    assert_eq!(world.events("job", "ended").len(), 1);
}

/// Runs the job `job` with a doorbell.
fn run(world: &World, heard: &Heard, hooks: &str, words: &[&str]) -> Ran {
    let args = ["run", "--id", "job", "--on-end", &heard.command()];
    let mut command = world.command(args);
    Ran::of(command.args(words).env("OUTLIVE_HOOKS", hooks))
}

#[test]
fn a_doorbell_rings_for_a_job_whose_launcher_was_killed() {
    let world = World::new();
    let heard = Heard::new(&world);
    let ran = run(&world, &heard, "launcher:Named=kill", &["--", "true"]);
    assert_eq!(ran.code, 137, "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_heard(&world, &heard, "not_started");
    world.until_nothing_runs();
}

#[test]
fn a_doorbell_rings_for_a_job_of_another_boot() {
    const BEFORE: &str = "00000000-0000-0000-0000-000000000000";
    let world = World::new();
    let heard = Heard::new(&world);
    run(&world, &heard, "", &["--", "sleep", "60"]);
    let leader = world.leader("job");
    world.kill_both("job");
    rewrite(&world, "job", "accepted", |accepted| {
        accepted["boot"] = json!(BEFORE)
    });
    let job = world.show("job");
    assert_eq!(job["outcome"]["kind"], "lost", "{job}");
    // The pids of the job may belong to other processes since the restart. The pair that rings must leave them alone
    // too.
    assert_eq!(job["lingering"], 0, "{job}");
    world.ok(&["stop", "job"]);
    assert_heard(&world, &heard, "lost");
    assert!(is_alive(leader));
}

/// The machine was restarted while doorbells were ringing. The others ring after the restart.
#[test]
fn a_doorbell_rings_for_a_job_that_ended_before_a_restart() {
    let world = World::new();
    let heard = Heard::new(&world);
    let hooks = "keeper:Ringing=kill-both";
    let script = format!("{}; exit 3", loop_until(&world.path("go")));
    run(&world, &heard, hooks, &["--shell", &script]);
    let pair = world.pair("job");
    fs::write(world.path("go"), "").unwrap();
    until("both are gone", || {
        !is_alive(pair.keeper) && pair.standby.is_some_and(|pid| !is_alive(pid))
    });
    rewrite(&world, "job", "accepted", |accepted| {
        accepted["boot"] = json!("another")
    });
    until_stands(&world, "job", "rung", 1);
    world.until_over("job");
    assert!((1..=2).contains(&heard.events().len()));
    assert_eq!(world.show("job")["exit_code"], 3);
}

/// If no keeper can be started at all, the job is not started, and its doorbell is given up with that reason.
#[test]
fn doorbells_are_given_up_for_a_job_that_no_keeper_can_be_started_for() {
    let world = World::new();
    let heard = Heard::new(&world);
    let args = ["run", "--id", "job", "--on-end", &heard.command()];
    let mut command = world.command(args);
    let ran = Ran::of(
        command
            .args(["--", "true"])
            .env("OUTLIVE_KEEPER", "/nowhere"),
    );
    assert_eq!(ran.code, 125, "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_eq!(job["doorbells"][0]["state"], "given_up", "{job}");
    let shown = world.ok(&["show", "job"]);
    let said = "doorbell  on-end given up: no keeper could be started to ring it";
    assert!(shown.contains(said), "{shown}");
    assert_eq!(heard.events().len(), 0);
    assert_eq!(world.listed(&[]), ["job"]);
}
