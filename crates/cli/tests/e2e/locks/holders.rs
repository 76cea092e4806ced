//! Keepers of the job that holds the lock are killed.

use super::{Book, assert_ran_after, assert_waits, errand, errands, holder, locked, waiter};
use outlive_testkit::checks::keepings;
use outlive_testkit::processes::{is_alive, kill_for_good, sleeps_in};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// Starts a job with the lock. It appends a line to the book when the test lets it end.
fn noting_holder(world: &World, book: &Book) -> String {
    locked(world, &format!("{WAITS}{}", book.note("first")))
}

/// Waits until the errand of a waiting job has the lock and waits for the process of the last holder.
fn until_it_waits_for_the_process(world: &World, id: &str) {
    let errand = errand(world, id);
    until("it waits for the process", || {
        sleeps_in(errand).contains("poll")
    });
}

#[test]
fn one_killed_keeper_does_not_release_the_lock() {
    let world = World::new();
    let first = holder(&world);
    let second = waiter(&world, &first, &[], "true");
    kill_for_good(world.pair(&first).keeper);
    until("the standby has taken over", || {
        keepings(&world, &first) == ["launched", "taken_over"]
    });
    assert_waits(&world, &second, &first);
    let_go(&world);
    assert_ran_after(&world, &second, &first);
}

#[test]
fn without_keepers_the_lock_is_held_while_the_process_runs() {
    let world = World::new();
    let book = Book::new(&world);
    let first = noting_holder(&world, &book);
    let leader = world.leader(&first);
    let before = waiter(&world, &first, &[], &book.note("next"));
    world.kill_both(&first);
    until_it_waits_for_the_process(&world, &before);
    let after = locked(&world, &book.note("next"));
    for id in [&before, &after] {
        assert_waits(&world, id, &first);
    }
    assert!(is_alive(leader));
    let_go(&world);
    for id in [&before, &after] {
        assert_eq!(world.wait(id)["exit_code"], 0);
    }
    assert_eq!(book.lines(), ["first", "next", "next"]);
    world.wait(&first);
    world.until_nothing_runs();
}

/// A job that got the lock while the old process ran, and was then stopped, does not let the next job start.
#[test]
fn a_stopped_waiter_does_not_let_others_in() {
    let world = World::new();
    let book = Book::new(&world);
    let first = noting_holder(&world, &book);
    let second = waiter(&world, &first, &[], "true");
    world.kill_both(&first);
    until_it_waits_for_the_process(&world, &second);
    world.ok(&["stop", &second]);
    let third = waiter(&world, &first, &[], &book.note("next"));
    until_it_waits_for_the_process(&world, &third);
    let_go(&world);
    assert_eq!(world.wait(&third)["exit_code"], 0);
    assert_eq!(book.lines(), ["first", "next"]);
}

/// The adopting keepers of the first job do not take the lock, or its name in the lock file, from the next holder.
#[test]
fn an_adopted_holder_releases_only_its_own_lock() {
    let world = World::new();
    let book = Book::new(&world);
    let first = noting_holder(&world, &book);
    let go = world.path("second");
    let script = outlive_testkit::scripts::loop_until(&go);
    let second = waiter(&world, &first, &[], &script);
    world.kill_both(&first);
    until_it_waits_for_the_process(&world, &second);
    assert_eq!(world.show(&first)["state"], "running");
    assert_eq!(keepings(&world, &first), ["launched", "adopted"]);
    assert_waits(&world, &second, &first);
    let_go(&world);
    world.until_over(&first);
    until("the second runs", || {
        world.show(&second)["state"] == "running"
    });
    let lock = fs::read_to_string(world.home().join("locks/x")).unwrap();
    assert_eq!(lock, second);
    let third = waiter(&world, &second, &[], "true");
    fs::write(go, "").unwrap();
    assert_ran_after(&world, &third, &second);
}

/// If no job waits, the adopting keepers take the lock again.
#[test]
fn an_adopted_holder_has_the_lock_again() {
    let world = World::new();
    let first = holder(&world);
    world.kill_both(&first);
    world.show(&first);
    let second = waiter(&world, &first, &[], "true");
    // It sleeps in the call that waits for the lock, not for a process.
    let errand = errand(&world, &second);
    until("it waits for the lock", || {
        let place = sleeps_in(errand);
        place.contains("lock") || place.contains("fcntl")
    });
    let_go(&world);
    assert_ran_after(&world, &second, &first);
    assert!(errands(&world, &second).is_empty());
}
