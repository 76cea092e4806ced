//! A process that a newer program adopted, seen and kept by an older one.

use super::both_ways;
use outlive_testkit::checks::{assert_nothing_is_left, exited, keepings};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use std::process::Child;

/// Ends with 9 when it is let go.
fn process(world: &World) -> Child {
    let script = format!("{WAITS} exit 9");
    let mut command = world.within("setsid", ["sh", "-c", &script]);
    command.env("GO", outlive_testkit::scripts::go(world));
    command.spawn().unwrap()
}

/// Runs a check with every stored release as the guest of a host that can adopt.
fn with_guests(check: impl Fn(&super::Meeting, &str, Child) + Sync) {
    both_ways(|meeting| {
        if !meeting.host.ok(&["--help"]).contains("adopt ") {
            return;
        }
        let child = process(meeting.world);
        let id = meeting.host.ok(&["adopt", &child.id().to_string()]);
        check(meeting, &id, child);
        assert_nothing_is_left(meeting.world, &id);
    });
}

#[test]
fn an_older_program_waits_for_it() {
    with_guests(|meeting, id, mut child| {
        assert_eq!(meeting.guest.show(id)["state"], "running");
        let_go(meeting.world);
        child.wait().unwrap();
        assert_eq!(meeting.guest.wait(id), 9);
        assert_eq!(meeting.guest.show(id)["outcome"], exited(9));
    });
}

#[test]
fn an_older_program_stops_it() {
    with_guests(|meeting, id, mut child| {
        meeting.guest.ok(&["stop", id]);
        child.wait().unwrap();
        assert_eq!(meeting.guest.show(id)["ended_by"], "stop");
    });
}

/// An older pair executes nothing: it takes over the process, and its outcome is exact.
#[test]
fn an_older_pair_takes_it_over() {
    with_guests(|meeting, id, mut child| {
        meeting.world.kill_both(id);
        assert_eq!(meeting.guest.show(id)["state"], "running");
        meeting.guest.assert_keeps(id);
        assert_eq!(keepings(meeting.world, id), ["adopted", "adopted"]);
        let_go(meeting.world);
        child.wait().unwrap();
        assert_eq!(meeting.guest.wait(id), 9);
        assert_eq!(meeting.world.events(id, "ended").len(), 1);
    });
}
