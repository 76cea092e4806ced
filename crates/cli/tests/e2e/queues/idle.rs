//! Jobs that wait in a queue make no system call.

use super::{runner, waiter};
use crate::locks::errand;
use outlive_testkit::processes::sleeps_for_good;
use outlive_testkit::scripts::let_go;
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn nobody_polls_while_jobs_wait() {
    needs!(Strace);
    let world = World::new();
    let running = [runner(&world, "q:2"), runner(&world, "q")];
    let waiting: Vec<String> = (1..=3)
        .map(|position| waiter(&world, position, "true"))
        .collect();
    let mut all = Vec::new();
    for id in running.iter().chain(&waiting) {
        world.ok(&["signal", id, "CONT"]);
        let pair = world.pair(id);
        all.push(pair.keeper);
        all.extend(pair.standby);
    }
    all.extend(waiting.iter().map(|id| errand(&world, id)));
    until("all are asleep", || {
        all.iter().all(|pid| sleeps_for_good(*pid))
    });
    let trace = watch_for_two_seconds(&world, &all);
    assert!(trace.lines().count() >= all.len(), "{trace}");
    let returned = trace.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(returned, 0, "{trace}");
    let_go(&world);
    world.until_nothing_runs();
}
