//! SIGKILL for every process between here and there, and for those that keep the job there.

use super::{assert_exact, at, start, until_nothing_runs_there, with};
use outlive_testkit::checks::every;
use outlive_testkit::places::OneShot;
use outlive_testkit::places::one_shot::Ways;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::thread;
use std::time::Duration;

/// Jobs of which each is started, written to and waited for while something is killed at these moments.
fn exact_though(kill: fn(&World)) {
    let moments = [20, 90, 170, 280, 400];
    let check = |millis: &u64| {
        let (_place, world) = at(OneShot::plain());
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(*millis));
                kill(&world);
            });
            // It does not end before it was said what became of the input.
            let go = world.path_there("go");
            let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
            start(&world, "job", &format!("cat; {wait}; seq 1 2000; exit 7"));
            world.ok(&["send", "job", "0", "--enter", "--eof"]);
            world.place().write(&go, b"").unwrap();
            world.wait("job");
        });
        let output = [b"0\n".as_slice(), &numbers(2000)].concat();
        assert_exact(&world, "job", 7, &output);
        until_nothing_runs_there(&world);
    };
    every(
        &moments,
        |millis| format!("killed after {millis} ms"),
        check,
    );
}

#[test]
fn a_job_is_exact_though_its_courier_is_killed() {
    exact_though(World::kill_couriers);
}

#[test]
fn a_job_is_exact_though_the_near_end_of_its_tunnel_is_killed() {
    exact_though(World::kill_transports);
}

#[test]
fn a_job_is_exact_though_its_far_end_is_killed() {
    exact_though(World::kill_far_ends);
}

#[test]
fn far_keepers_that_are_killed_lose_nothing() {
    for kill in [World::kill_keeper, World::kill_standby, World::kill_both] {
        let (_place, world) = at(OneShot::plain());
        start(&world, "job", "cat; exit 7");
        let waiter = begin(world.command(["wait", "job"]));
        kill(&world, "job");
        world.ok(&["stop", "job"]);
        assert_ne!(Ran::end_of(waiter).code, 0);
        until_nothing_runs_there(&world);
    }
}

/// Each far end is killed at this step, until the place is told otherwise.
#[test]
fn a_far_end_that_is_killed_at_any_step_of_a_call_loses_nothing() {
    let steps = ["Asked", "Collected", "Answered"];
    let check = |step: &&str| {
        let (place, world) = with(Ways::default());
        world.ok(&["place", "check", "box"]);
        world.kill_far_ends();
        let scratch = world.path_there("");
        let ways = format!("variables=OUTLIVE_HOOKS=tunnel:{step}=kill");
        place.change(&scratch, &Ways::of(&ways));
        let before = place.calls(&scratch);
        thread::scope(|scope| {
            let started = scope.spawn(|| start(&world, "job", "cat; exit 7"));
            until("some calls have failed", || {
                place.calls(&scratch) > before + 3
            });
            place.change(&scratch, &Ways::default());
            started.join().unwrap();
        });
        world.ok(&["send", "job", "one", "--enter", "--eof"]);
        assert_exact(&world, "job", 7, b"one\n");
    };
    every(&steps, |step| format!("killed at {step}"), check);
}

#[test]
fn nothing_stays_when_the_courier_has_left() {
    let (_place, world) = at(OneShot::plain());
    start(&world, "job", "exec sleep 60");
    world.ok(&["stop", "job"]);
    outlive_testkit::couriers::kill_all(&world.couriers());
    until("the far end is told", || world.far_ends().is_empty());
    until("the near end has left", || world.near_ends().is_empty());
    until_nothing_runs_there(&world);
}
