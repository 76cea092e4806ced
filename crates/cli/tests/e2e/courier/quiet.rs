//! What a courier does when nobody asks.

use super::{Client, world};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::thread;
use std::time::Duration;

/// How often the threads of the couriers have gone to sleep.
fn sleeps(world: &World) -> u64 {
    let tasks = |pid| {
        fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
    };
    let tasks = world.couriers().into_iter().flat_map(|it| tasks(it.pid));
    let count = |status: String| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok())
    };
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("status")).ok())
        .filter_map(count)
        .sum()
}

/// Checks what the listener hears next, apart from news of jobs.
#[track_caller]
fn hears(listener: &mut Client, what: &str) {
    let line = loop {
        let line = listener.line().unwrap();
        if line["changed"].is_null() {
            break line;
        }
    };
    assert!(line[what].is_object(), "{what}: {line}");
}

/// It pings after 15 s without a frame. Before that, nothing wakes it, whatever runs there and whoever listens.
#[test]
fn an_idle_courier_does_not_wake_up() {
    let world = world();
    world.ok(&["run", "--id", "job", "--", "sleep", "60"]);
    let mut listener = Client::asking(&world, &json!("listen"));
    assert_eq!(listener.line(), Some(json!("opened")));
    hears(&mut listener, "reached");
    let pause = Duration::from_millis(500);
    until("it has come to rest", || {
        let before = sleeps(&world);
        thread::sleep(pause);
        sleeps(&world) == before
    });
    let before = sleeps(&world);
    thread::sleep(4 * pause);
    assert_eq!(sleeps(&world), before);
    world.ok(&["stop", "job"]);
}

#[test]
fn who_listens_hears_that_the_wire_is_lost_and_that_it_is_back() {
    let world = world();
    world.ok(&["run", "--id", "job", "--", "sleep", "60"]);
    let mut listener = Client::asking(&world, &json!("listen"));
    assert_eq!(listener.line(), Some(json!("opened")));
    hears(&mut listener, "reached");
    let known = |world: &World| {
        let known = fs::read(super::directory(world).join("known")).unwrap();
        serde_json::from_slice::<Value>(&known).unwrap()
    };
    world.kill_far_ends();
    hears(&mut listener, "unreached");
    // Nobody has asked for it but the listener.
    hears(&mut listener, "reached");
    assert_eq!(known(&world)["unreached"], Value::Null);
    assert_eq!(world.show("job")["state"], "running");
    world.ok(&["stop", "job"]);
}

#[test]
fn a_connection_to_a_keeper_ends_with_the_wire_and_is_asked_for_again() {
    let world = world();
    world.ok(&["run", "--id", "job", "--", "sleep", "60"]);
    let opening = json!({"open": {"opening": {"control": {"job": "job"}}, "within_ms": 10_000}});
    let mut client = Client::asking(&world, &opening);
    assert_eq!(client.line(), Some(json!("opened")));
    world.kill_far_ends();
    assert_eq!(client.line(), None);
    let mut again = Client::asking(&world, &opening);
    assert_eq!(again.line(), Some(json!("opened")));
    world.ok(&["stop", "job"]);
    assert_eq!(again.line(), None, "the keeper is gone");
}
