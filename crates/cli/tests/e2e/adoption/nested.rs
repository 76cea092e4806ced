//! Adoption of jobs that run below another job.

use super::leader;
use outlive_sys::process;
use outlive_testkit::checks::{assert_nothing_is_left, every, exited, keepings, until_output};
use outlive_testkit::processes::{CONT, STOP, is_alive, kill};
use outlive_testkit::scripts::{WAITS, go, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// Starts `job` in `world` below the keeper of another job, which inherits the orphans of `job`. Returns that keeper.
fn start_below(outer: &World, world: &World, script: &str) -> i32 {
    let outlive = outlive_testkit::programs::outlive();
    let inner = format!("{outlive} run --id job --shell '{script}' && exec sleep 60");
    let variables = [
        format!("OUTLIVE_HOME={}", world.home().display()),
        format!("GO={}", go(world).display()),
    ];
    outer.ok(&[
        "run",
        "--id",
        "outer",
        "--env",
        &variables[0],
        "--env",
        &variables[1],
        "--shell",
        &inner,
    ]);
    until_output(outer, "outer", "job\n");
    outer.pair("outer").keeper
}

#[test]
fn the_outcome_is_exact_while_the_new_parent_has_not_reaped_the_leader() {
    every(
        &[0, 7],
        |code| format!("exit {code}"),
        |code| {
            let (outer, world) = (World::new(), World::new());
            let parent = start_below(&outer, &world, &format!("{WAITS} exit {code}"));
            let leader = leader(&world, "job");
            world.kill_both("job");
            until("the orphan has its new parent", || {
                process::stat(leader).unwrap().parent == parent
            });
            kill(parent, STOP);
            let_go(&world);
            until("it has ended", || {
                process::stat(leader).unwrap().is_zombie()
            });
            // The outcome is known even for code 0, which looks the same as unknown if the kernel hides it. This user
            // may read it.
            let waited = world.outlive(&["wait", "job", "--timeout", "30s"]);
            assert_eq!(waited.code, *code, "{waited:?}");
            assert_eq!(world.show("job")["outcome"], exited(*code));
            kill(parent, CONT);
            assert_nothing_is_left(&world, "job");
        },
    );
}

#[test]
fn an_adoption_does_not_touch_jobs_that_the_job_started() {
    let (outer, world) = (World::new(), World::new());
    start_below(&outer, &world, "exec sleep 60");
    outer.kill_both("outer");
    assert_eq!(outer.job(&["stop", "outer", "--json"])["exit_code"], 143);
    assert_nothing_is_left(&outer, "outer");
    assert_eq!(world.show("job")["state"], "running");
    assert_eq!(keepings(&world, "job"), ["launched"]);
    assert!(is_alive(leader(&world, "job")));
}
