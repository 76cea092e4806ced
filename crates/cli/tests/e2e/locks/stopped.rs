//! Stopping a job that waits for its lock.

use super::{assert_ran_after, assert_waits, errand, errands, holder, waiter, waiter_with_hooks};
use outlive_testkit::checks::{keepings, signaled};
use outlive_testkit::processes::{is_alive, kill_for_good, until_stopped};
use outlive_testkit::scripts::let_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

fn assert_stopped(world: &World, job: &Value) {
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_eq!(job["ended_by"], "stop", "{job}");
    assert_eq!(job["exit_code"], 125, "{job}");
    let reason = job["outcome"]["reason"].as_str().unwrap();
    assert_eq!(reason, "it was stopped while it waited for the lock x");
    let id = job["id"].as_str().unwrap();
    assert_eq!(world.events(id, "spawned").len(), 0);
    assert_eq!(world.events(id, "ended").len(), 1);
}

#[test]
fn a_stopped_waiting_job_is_not_started_and_does_not_disturb_the_holder() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "true");
    let third = waiter(&world, &first, &[], "true");
    let waits = errand(&world, &second);
    assert_stopped(&world, &world.job(&["stop", &second, "--json"]));
    assert!(!is_alive(waits));
    assert_eq!(world.show(&first)["state"], "running");
    let lock = world.home().join("locks/x");
    assert_eq!(fs::read_to_string(&lock).unwrap(), first);
    assert_waits(&world, &third, &first);
    world.until_over(&second);
    let_go(&world);
    assert_ran_after(&world, &third, &first);
    // The keeper clears it after the end.
    world.until_nothing_runs();
    assert_eq!(fs::read_to_string(&lock).unwrap(), "");
}

/// A stopped job that is still kept, because its doorbell rings, does not get the lock.
#[test]
fn a_stopped_waiting_job_does_not_get_the_lock_afterwards() {
    let world = World::new();
    let first = holder(&world);
    let fifo = world.path("fifo");
    outlive_testkit::gate::make_fifo(&fifo);
    let bell = format!("read -r line < {}", fifo.display());
    let second = waiter(&world, &first, &["--on-end", &bell], "true");
    assert_stopped(&world, &world.job(&["stop", &second, "--json"]));
    assert!(world.live(&second).symlink_metadata().is_ok());
    let_go(&world);
    let third = super::locked(&world, "true");
    assert_ran_after(&world, &third, &first);
    fs::write(&fifo, "go\n").unwrap();
    world.until_over(&second);
}

/// The stop is in the journal, so no later keeper starts the job.
#[test]
fn a_stopped_waiting_job_stays_stopped_though_keepers_are_killed() {
    for both in [false, true] {
        let world = World::new();
        let first = holder(&world);
        let second = waiter_with_hooks(&world, &first, "keeper:StopWritten=stop", "true");
        let pair = world.pair(&second);
        let mut stop = world.stopping(&[&second], "1s");
        until_stopped(pair.keeper);
        stop.kill().unwrap();
        stop.wait().unwrap();
        match both {
            true => world.kill_both(&second),
            false => kill_for_good(pair.keeper),
        }
        until("it has ended", || world.show(&second)["state"] == "ended");
        assert_stopped(&world, &world.show(&second));
        assert_eq!(keepings(&world, &second).len(), if both { 1 } else { 2 });
        until("nobody waits", || errands(&world, &second).is_empty());
        let third = waiter(&world, &first, &[], "true");
        let_go(&world);
        assert_ran_after(&world, &third, &first);
    }
}

#[test]
fn stopping_the_holder_and_the_waiter_ends_both() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "exec sleep 60");
    world.ok(&["stop", &second, &first]);
    assert_stopped(&world, &world.show(&second));
    assert_eq!(world.show(&first)["outcome"], signaled("SIGTERM"));
    world.until_nothing_runs();
}
