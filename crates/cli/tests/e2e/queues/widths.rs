//! A queue is as wide as it was last said to be.

use super::{
    assert_queue_is_empty, assert_ran_once, assert_waits, queued, runner, until_running, waiter,
};
use crate::locks::errand;
use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::world::World;

#[test]
fn a_wider_queue_starts_more_at_once() {
    let world = World::new();
    let first = runner(&world, "q");
    let ids: Vec<String> = (1..=3)
        .map(|position| waiter(&world, position, WAITS))
        .collect();
    // Three may run now: the first two of those that wait.
    let last = queued(&world, "q:3", WAITS);
    until_running(&world, &ids[0]);
    until_running(&world, &ids[1]);
    assert_waits(&world, &ids[2], 1);
    assert_waits(&world, &last, 2);
    assert_eq!(world.show(&last)["waiting_for"]["width"], 3);
    let_go(&world);
    for id in ids.iter().chain([&first, &last]) {
        assert_ran_once(&world, id);
    }
    assert_queue_is_empty(&world);
}

#[test]
fn a_narrower_queue_stops_nothing() {
    let world = World::new();
    let gates: Vec<_> = (0..3)
        .map(|number| {
            outlive_testkit::gate::Gate::at(world.path(&format!("gate{number}"))).unwrap()
        })
        .collect();
    let ids: Vec<String> = gates
        .iter()
        .map(|gate| queued(&world, "q:3", &gate.then("true")))
        .collect();
    ids.iter().for_each(|id| until_running(&world, id));
    let next = queued(&world, "q:1", "true");
    assert_waits(&world, &next, 1);
    for (gate, id) in gates.iter().zip(&ids) {
        assert_waits(&world, &next, 1);
        assert_eq!(world.show(id)["state"], "running");
        gate.open();
        assert_ran_once(&world, id);
    }
    super::assert_ran_after(&world, &next, &ids[2]);
    assert_queue_is_empty(&world);
}

#[test]
fn without_a_number_the_width_stays() {
    let world = World::new();
    let first = runner(&world, "q:2");
    let second = runner(&world, "q");
    let third = waiter(&world, 1, "true");
    assert_eq!(world.show(&third)["waiting_for"]["width"], 2);
    let_go(&world);
    for id in [&first, &second, &third] {
        assert_ran_once(&world, id);
    }
    // Also when nobody is left in the queue.
    let ids = [0, 1].map(|_| queued(&world, "q", "exec sleep 60"));
    for id in &ids {
        assert_eq!(world.show(id)["state"], "running");
    }
    world.ok(&["stop", &ids[0], &ids[1]]);
    assert_queue_is_empty(&world);
}

/// The first job of the line takes a descriptor for each running job. With fewer it looks once a second.
#[test]
fn a_queue_wider_than_the_limit_on_descriptors_is_waited_for_asleep() {
    needs!(Strace);
    const WIDTH: usize = 40;
    let world = World::new();
    let queue = format!("q:{WIDTH}");
    let running: Vec<String> = (0..WIDTH)
        .map(|_| queued(&world, &queue, "exec sleep 600"))
        .collect();
    let args = ["run", "--queue", "q", "--", "sleep", "600"];
    let waiting = Ran::of(&mut behind(
        "prlimit",
        ["--nofile=40:40"],
        &world.command(args),
    ));
    assert_eq!(waiting.code, 0, "{waiting:?}");
    let waiting = waiting.stdout.trim_end();
    assert_waits(&world, waiting, 1);
    let sleeping = errand(&world, waiting);
    let trace = watch_for_two_seconds(&world, &[sleeping]);
    let looks = trace.lines().filter(|line| line.contains("O_DIRECTORY"));
    let looks = looks.count();
    assert!((1..=6).contains(&looks), "{looks} looks:\n{trace}");
    assert_eq!(errand(&world, waiting), sleeping, "it was started again");
    // No descriptor was left for the last one.
    world.ok(&["stop", &running[WIDTH - 1]]);
    until_running(&world, waiting);
    world.ok(&["stop", "--all"]);
    assert_queue_is_empty(&world);
}
