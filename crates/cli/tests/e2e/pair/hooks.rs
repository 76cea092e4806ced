//! The keeper or its standby is killed at each hook.

use super::kinds::{Cell, HOOKS, cells};
use outlive_sys::process;
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::processes::{CONT, is_stopped, kill, kill_for_good};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::thread::{self, ScopedJoinHandle};

fn a_keeper_killed_at_any_hook_loses_nothing_of_a(kind: &str) {
    every(&cells(kind), Cell::name, |cell| {
        let world = World::new();
        let id = cell
            .kind
            .drive(&world, &format!("keeper:{}=kill", cell.hook));
        cell.kind.assert_settled(&world, &id);
        let taken_over = keepings(&world, &id)
            .iter()
            .filter(|how| *how == "taken_over")
            .count();
        assert!(taken_over <= 1, "{:?}", keepings(&world, &id));
        cell.assert_happened("takeover", taken_over == 1);
    });
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_short_job() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("short");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_chatty_job() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("chatty");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_that_ignores_term() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("stubborn");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_that_times_out() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("overdue");
}

#[test]
fn a_keeper_killed_at_any_hook_loses_nothing_of_a_job_that_lingers() {
    a_keeper_killed_at_any_hook_loses_nothing_of_a("lingering");
}

/// A keeper that has stopped at its hook.
fn stopped_keeper(world: &World) -> Option<i32> {
    world.processes().into_iter().find(|pid| is_stopped(*pid))
}

/// Kills the standby while the keeper is stopped at its hook, then continues the keeper until the job is over. Returns
/// whether the keeper came to the hook.
fn kill_the_standby_meanwhile<T>(world: &World, job: &ScopedJoinHandle<'_, T>) -> bool {
    let mut keeper = None;
    until("the job is over", || {
        match keeper {
            // The keeper may come to its hook several times, and stops each time.
            Some(keeper) => kill(keeper, CONT),
            None => {
                keeper = stopped_keeper(world);
                let parent = keeper.and_then(process::stat).map(|stat| stat.parent);
                parent.into_iter().for_each(kill_for_good);
            }
        }
        job.is_finished() && world.processes().is_empty()
    });
    keeper.is_some()
}

fn a_standby_killed_at_any_hook_loses_nothing_of_a(kind: &str) {
    every(&cells(kind), Cell::name, |cell| {
        let world = World::new();
        let hooks = format!("keeper:{}=stop", cell.hook);
        thread::scope(|scope| {
            let job = scope.spawn(|| cell.kind.drive(&world, &hooks));
            let killed = kill_the_standby_meanwhile(&world, &job);
            let id = job.join().unwrap();
            cell.assert_happened("standby killed", killed);
            cell.kind.assert_settled(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched"]);
        });
    });
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_short_job() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("short");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_chatty_job() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("chatty");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_job_that_ignores_term() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("stubborn");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_job_that_times_out() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("overdue");
}

#[test]
fn a_standby_killed_at_any_hook_loses_nothing_of_a_job_that_lingers() {
    a_standby_killed_at_any_hook_loses_nothing_of_a("lingering");
}

#[test]
fn the_matrix_has_every_hook_there_is() {
    let source = include_str!("../../../../keeper/src/hooks.rs");
    let (_, after) = source.split_once("pub enum Hook {").unwrap();
    let (body, _) = after.split_once("\n}").unwrap();
    let there_are: Vec<&str> = body
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| line.trim_end_matches(','))
        .collect();
    assert_eq!(HOOKS.map(|(hook, _)| hook).to_vec(), there_are);
}
