//! A job that waits leaves its place.

use super::{
    assert_queue_is_empty, assert_ran_after, assert_ran_once, assert_waits, queued, runner, waiter,
};
use outlive_testkit::checks::exited;
use outlive_testkit::scripts::let_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

#[test]
fn a_job_that_is_stopped_in_the_line_frees_its_place() {
    let world = World::new();
    let first = runner(&world, "q");
    let ids: Vec<String> = (1..=4)
        .map(|position| waiter(&world, position, "true"))
        .collect();
    // One in the middle, the first, and the last.
    for (id, left) in [
        (&ids[1], [1, 2, 3].as_slice()),
        (&ids[0], &[1, 2]),
        (&ids[3], &[1]),
    ] {
        world.ok(&["stop", id]);
        let job = world.show(id);
        assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
        let reason = "it was stopped while it waited in the queue q";
        assert_eq!(job["outcome"]["reason"], reason);
        assert_eq!(job["ended_by"], "stop");
        let mut waiting: Vec<&String> = ids.iter().collect();
        waiting.retain(|id| world.show(id)["state"] == "waiting");
        assert_eq!(waiting.len(), left.len());
        for (id, position) in waiting.iter().zip(left) {
            assert_waits(&world, id, *position);
        }
    }
    let_go(&world);
    assert_ran_after(&world, &ids[2], &first);
    assert_queue_is_empty(&world);
}

#[test]
fn everyone_in_a_queue_can_be_stopped_at_once() {
    let world = World::new();
    let first = runner(&world, "q");
    let mut ids: Vec<String> = (1..=6)
        .map(|position| waiter(&world, position, "true"))
        .collect();
    ids.push(first);
    let all = ids.iter().map(String::as_str);
    world.ok(&["stop"].into_iter().chain(all).collect::<Vec<_>>());
    until("all have ended", || {
        ids.iter().all(|id| world.show(id)["state"] == "ended")
    });
    assert_queue_is_empty(&world);
}

/// Whoever owns the home may remove a queue. A job that waits there could never get its turn, and says so.
#[test]
fn a_job_whose_queue_was_removed_does_not_wait_for_ever() {
    let world = World::new();
    let first = runner(&world, "q");
    let second = waiter(&world, 1, "true");
    fs::remove_dir_all(world.home().join("queues")).unwrap();
    let_go(&world);
    assert_eq!(world.wait(&first)["outcome"], exited(0));
    let job = world.wait(&second);
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    let reason = job["outcome"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("its place in the queue was removed"),
        "{reason}"
    );
    let third = queued(&world, "q", "true");
    assert_ran_once(&world, &third);
    assert_queue_is_empty(&world);
}
