//! `prune` removes posts that were told, and files that killed consumers and posters left.

use super::{Consumer, ME, ack, assert_nothing_waits, event_ids, inbox, post};
use outlive_testkit::processes::{kill_for_good, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::process::Command;

fn posts(world: &World) -> Vec<String> {
    let mut names = names_in(&world.home().join("posts"));
    // This has the IDs of pruned posts.
    names.retain(|name| name != ".pruned");
    names
}

#[test]
fn prune_removes_posts_that_were_told() {
    let world = World::new();
    let told = post(&world, &json!({}), &["--id", "told"]);
    ack(&world, &told);
    post(&world, &json!({}), &["--id", "untold"]);
    // The posts are not old enough.
    world.ok(&["prune"]);
    world.ok(&["prune", "--older-than", "1h"]);
    assert_eq!(posts(&world), ["told", "untold"]);
    let pruned = world.json(&["prune", "--all", "--json"]);
    assert_eq!(posts(&world), ["untold"]);
    assert_eq!(pruned["removed"], json!([]));
    assert_eq!(pruned["removed_posts"], json!(["told"]));
    assert_eq!(
        event_ids(&inbox(&world, &[])),
        [world.event_id("untold", &json!(1))]
    );
}

#[test]
fn prune_removes_posts_by_age() {
    let world = World::new();
    for id in ["one", "two"] {
        let event = post(&world, &json!({}), &["--id", id]);
        ack(&world, &event);
    }
    let file = world.home().join("posts/one/post.json");
    let mut old: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let week = 7 * 24 * 60 * 60 * 1000;
    old["at"]["wall_ms"] = json!(old["at"]["wall_ms"].as_u64().unwrap() - week - 1000);
    old["boot"] = json!("an earlier one");
    fs::write(&file, old.to_string()).unwrap();
    world.ok(&["prune"]);
    assert_eq!(posts(&world), ["two"]);
}

#[test]
fn prune_removes_an_untold_post_only_with_force() {
    let world = World::new();
    post(&world, &json!({}), &["--id", "untold"]);
    let ran = world.outlive(&["prune", "--all"]);
    assert!(ran.stderr.contains("has not been told"), "{ran:?}");
    assert_eq!(posts(&world), ["untold"]);
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(posts(&world), [""; 0]);
    assert_nothing_waits(&world);
}

#[test]
fn prune_removes_what_killed_posters_left() {
    let world = World::new();
    let file = world.path("post.json");
    fs::write(&file, "{}").unwrap();
    for _ in 0..2 {
        let mut command = world.command(["post", "--session", ME]);
        command
            .arg(&file)
            .env("OUTLIVE_HOOKS", "poster:Written=kill");
        assert_eq!(Ran::of(&mut command).code, 137);
    }
    let waiter = Consumer::of(&world, &["--wait"]);
    until_blocked(waiter.pid());
    let alive = Consumer::of(&world, &["--wait"]);
    until_blocked(alive.pid());
    kill_for_good(waiter.pid());
    let inbox_of_me = world.home().join("inbox").join(ME);
    // New files may belong to a poster or waiter that is still running.
    world.ok(&["prune"]);
    assert_eq!(posts(&world).len(), 2);
    let mut touch = Command::new("touch");
    touch.args(["-h", "-d", "2 hours ago"]);
    for directory in [world.home().join("posts"), inbox_of_me.clone()] {
        let names = names_in(&directory);
        touch.args(names.into_iter().map(|name| directory.join(name)));
    }
    assert!(touch.status().unwrap().success());
    world.ok(&["prune"]);
    assert_eq!(posts(&world), [""; 0]);
    // The bell of the living waiter stays.
    assert_eq!(names_in(&inbox_of_me).len(), 1);
    let event = post(&world, &json!({}), &[]);
    assert_eq!(event_ids(&alive.answer()), [event]);
}

#[test]
fn prune_keeps_a_damaged_post_unless_forced() {
    let world = World::new();
    let sound = post(&world, &json!({}), &["--id", "sound"]);
    post(&world, &json!({}), &["--id", "damaged"]);
    fs::write(world.home().join("posts/damaged/post.json"), "{").unwrap();
    let ran = world.outlive(&["inbox", "--session", ME, "--json"]);
    assert!(ran.stderr.contains("damaged cannot be read"), "{ran:?}");
    let answer = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(event_ids(&answer), [sound]);
    assert_eq!(
        world.json(&["prune", "--json"])["unreadable"],
        json!(["damaged"])
    );
    world.ok(&["prune", "--force"]);
    assert_eq!(posts(&world), ["sound"]);
}
