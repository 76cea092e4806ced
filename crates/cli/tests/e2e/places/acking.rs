//! The place keeps a job until it knows that everything of it is here. An ack that was lost is sent again.

use super::{counted, tapped};
use outlive_core::wire::{Frame, Kind};
use outlive_testkit::tap::Direction;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::PathBuf;

/// Whether a frame carries an ack.
fn is_ack(direction: Direction, frame: &Frame) -> bool {
    let text = String::from_utf8_lossy(&frame.payload);
    let is_data = direction == Direction::There && frame.kind == Kind::Data;
    is_data && (text.starts_with("{\"finish\"") || text.starts_with("{\"ack\""))
}

/// The links there to the jobs of this home whose news is not known to be here.
fn waiting_there(world: &World) -> Vec<String> {
    let inbox = world.path_there(".local/state/outlive/inbox");
    let sessions = fs::read_dir(inbox).into_iter().flatten().flatten();
    let links = sessions.flat_map(|session| fs::read_dir(session.path()).into_iter().flatten());
    let names = links.flatten().map(|link| link.file_name());
    names
        .map(|name| name.to_str().unwrap().to_owned())
        .collect()
}

/// What this side still owes the place.
fn owed(world: &World) -> usize {
    let places = fs::read_dir(world.home().join("places")).unwrap().flatten();
    let owed = places.map(|place| place.path().join("acks"));
    owed.map(|acks: PathBuf| fs::read_dir(acks).map_or(0, Iterator::count))
        .sum()
}

#[test]
fn acks_that_were_lost_are_sent_again_over_the_next_wire_without_a_call_for_each() {
    let (tap, world) = tapped();
    let ids: Vec<String> = (0..12).map(|number| format!("job-{number}")).collect();
    // They get lost on the way.
    tap.lie(|direction, frame| is_ack(direction, frame).then(Vec::new));
    for id in &ids {
        let script = counted(&world, id, "exit 7");
        world.ok(&["run", "--id", id, "--session", "s", "--shell", &script]);
        world.wait(id);
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    until("all of them are owed", || owed(&world) == ids.len());
    let live = world.home().join("live");
    until("they are over here", || {
        live.read_dir().unwrap().next().is_none()
    });
    assert_eq!(waiting_there(&world).len(), ids.len());
    world.kill_couriers();
    tap.stop_lying();
    tap.passed();
    world.ok(&["place", "list"]);
    world.ok(&["run", "--id", "next", "--", "sleep", "60"]);
    until("nothing waits there", || waiting_there(&world) == ["next"]);
    until("nothing is owed", || owed(&world) == 0);
    let passed = tap.passed();
    let calls = passed
        .iter()
        .filter(|part| part.contains("open") && part.contains("{\"call\""));
    let calls: Vec<_> = calls.collect();
    assert!(calls.len() <= 4, "{calls:#?}");
    // Those who clean up there may remove them.
    let home = world.path_there(".local/state/outlive");
    let mut prune = world.command(["prune", "--all", "--json"]);
    let ran = outlive_testkit::ran::Ran::of(prune.env("OUTLIVE_HOME", &home));
    let left = fs::read_dir(home.join("jobs")).unwrap().count();
    assert_eq!(left, 1, "{ran:?}");
    world.ok(&["stop", "next"]);
}

#[test]
fn a_job_that_was_removed_here_is_owed_no_more() {
    let (tap, world) = tapped();
    tap.lie(|direction, frame| is_ack(direction, frame).then(Vec::new));
    world.ok(&["run", "--id", "job", "--wait", "--", "true"]);
    until("it is owed", || owed(&world) == 1);
    world.kill_couriers();
    tap.stop_lying();
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    world.ok(&["run", "--id", "job", "--wait", "--", "true"]);
    until("nothing is owed", || owed(&world) == 0);
    until("nothing waits there", || waiting_there(&world).is_empty());
}
