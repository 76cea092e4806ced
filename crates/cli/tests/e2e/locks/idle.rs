//! A job that waits for its lock needs no more than its waiting processes.

use super::{errand, errands, holder, waiter};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::processes::{kill_for_good, sleeps_for_good};
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn nobody_polls_while_a_job_waits() {
    needs!(Strace);
    const SORTS: [&[&str]; 4] = [&[], &["--stdin", "pipe"], &["--pty"], &["--task", "heir"]];
    let name = |sort: &&[&str]| format!("{sort:?}");
    every(&SORTS, name, |sort| {
        let world = World::new();
        let first = holder(&world);
        let second = waiter(&world, &first, sort, "true");
        if sort.contains(&"heir") {
            let old = errand(&world, &second);
            kill_for_good(world.pair(&second).keeper);
            until("it was taken over", || keepings(&world, &second).len() == 2);
            until(
                "another one waits",
                || matches!(errands(&world, &second).as_slice(), [new] if *new != old),
            );
        }
        world.ok(&["signal", &second, "CONT"]);
        let pair = world.pair(&second);
        let mut all = vec![pair.keeper, errand(&world, &second)];
        all.extend(pair.standby);
        until("all are asleep", || {
            all.iter().all(|pid| sleeps_for_good(*pid))
        });
        let trace = watch_for_two_seconds(&world, &all);
        // Each process was in one call the whole time, which did not return.
        assert_eq!(trace.lines().count(), all.len(), "{trace}");
        let returned = trace.lines().filter(|line| line.contains(" = ")).count();
        assert_eq!(returned, 0, "{trace}");
        world.ok(&["stop", &second, &first]);
    });
}
