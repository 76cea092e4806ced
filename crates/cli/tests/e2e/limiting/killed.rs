//! Keepers of a limited job are killed.

use super::{LITTLE, assert_groups_are_gone, groups, has_groups, was_inside};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::processes::is_alive;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, go, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// The steps of putting a job under its limits.
const START: [&str; 6] = [
    "Confined",
    "GroupsMade",
    "Forked",
    "PutUnder",
    "Spawned",
    "GateOpened",
];

/// Starts a job with this hook for its keeper.
fn doomed(world: &World, hook: &str, script: &str) -> String {
    let mut command =
        world.command([&["run", "--id", "job"], &LITTLE[..], &["--shell", script]].concat());
    // The launcher of a job that could not be started reports that.
    let ran = Ran::of(command.env("OUTLIVE_HOOKS", hook).env("GO", go(world)));
    assert!([0, 125].contains(&ran.code), "{ran:?}");
    "job".to_owned()
}

#[test]
fn a_keeper_killed_at_any_step_leaves_no_job_without_its_limits() {
    needs!(Root);
    if !has_groups(&World::new()) {
        return;
    }
    every(
        &START,
        |step| (*step).to_owned(),
        |step| {
            let world = World::new();
            let id = doomed(
                &world,
                &format!("keeper:{step}=kill"),
                "cat /proc/self/cgroup; exit 5",
            );
            let job = world.wait(&id);
            assert_eq!(job["exit_code"], 5, "{job}");
            assert!(was_inside(&world, &id), "{:?}", world.journal(&id));
            assert_eq!(world.events(&id, "confined").len(), 1);
            assert_eq!(keepings(&world, &id).last().unwrap(), "taken_over");
            assert_groups_are_gone(&world, &id);
            world.until_nothing_runs();
        },
    );
}

#[test]
fn killing_both_keepers_at_any_step_leaves_no_group_behind() {
    needs!(Root);
    if !has_groups(&World::new()) {
        return;
    }
    every(
        &START,
        |step| (*step).to_owned(),
        |step| {
            let world = World::new();
            let id = doomed(
                &world,
                &format!("keeper:{step}=kill-both"),
                "cat /proc/self/cgroup; exit 5",
            );
            let job = world.wait(&id);
            let kind = job["outcome"]["kind"].as_str().unwrap();
            assert!(["not_started", "lost", "exited"].contains(&kind), "{job}");
            // What ran was limited.
            assert!(
                world.output(&id).is_empty() || was_inside(&world, &id),
                "{job}"
            );
            assert_groups_are_gone(&world, &id);
            world.until_nothing_runs();
        },
    );
}

/// The job is out of memory, and its keeper is killed at any step from there to the end.
#[test]
fn a_keeper_killed_while_the_job_is_out_of_memory_loses_nothing() {
    needs!(Root);
    if !has_groups(&World::new()) {
        return;
    }
    let steps = [
        "StopAsked",
        "StopWritten",
        "Terminated",
        "LeaderEnded",
        "OutputSynced",
        "EndedRecorded",
        "Told",
        "Closed",
    ];
    let both = steps
        .iter()
        .flat_map(|step| [(*step, "kill"), (*step, "kill-both")]);
    let cells: Vec<(&str, &str)> = both.collect();
    every(
        &cells,
        |cell| format!("{cell:?}"),
        |(step, what)| {
            let world = World::new();
            let script = format!("setsid sleep 60 & {WAITS} tail /dev/zero; sleep 60");
            let id = doomed(&world, &format!("keeper:{step}={what}"), &script);
            let_go(&world);
            if *what == "kill-both" {
                let pair = world.pair(&id);
                let is_gone = || !is_alive(pair.keeper) || !world.events(&id, "closed").is_empty();
                // A version 2 kernel kills the whole job, so that no stop is asked for.
                until("the keepers are gone, or the job is over", is_gone);
            }
            let job = world.wait(&id);
            assert_eq!(job["ended_by"], "memory", "{job}");
            assert_eq!(world.events(&id, "ended").len(), 1);
            assert_groups_are_gone(&world, &id);
            world.until_nothing_runs();
        },
    );
}

/// A process is killed for want of memory while no keeper is alive.
#[test]
fn what_happened_while_no_keeper_was_alive_is_made_up_for() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let script = format!("{WAITS} tail /dev/zero; echo $? > $GO.code; sleep 60");
    let id = doomed(&world, "", &script);
    world.kill_both(&id);
    let_go(&world);
    // With version 2 the whole job is gone at once.
    let leader = world.events(&id, "spawned")[0]["leader"]["pid"]
        .as_i64()
        .unwrap() as i32;
    until("the kernel has killed a process", || {
        world.path("go.code").exists() || !is_alive(leader)
    });
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "memory", "{job}");
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    assert_groups_are_gone(&world, &id);
    world.until_nothing_runs();
}

/// The last keeper dies after the job is closed and before the groups are removed. The next verb removes them.
#[test]
fn a_verb_removes_the_groups_of_a_job_that_is_over() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let id = doomed(&world, "keeper:Noted=kill-both", "exit 0");
    until("the keepers are gone", || world.processes().is_empty());
    assert!(groups(&world, &id).iter().all(|group| group.exists()));
    world.ok(&["list"]);
    assert_groups_are_gone(&world, &id);
}
