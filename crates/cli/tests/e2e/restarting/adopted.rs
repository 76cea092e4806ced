//! Both keepers are killed: nobody has the job's environment any more, so no attempt follows, and the job says so.

use super::{END, NOTED, runs, start, start_with_hooks};
use outlive_testkit::checks::{assert_nothing_is_left, every};
use outlive_testkit::scripts::let_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

const OPTIONS: [&str; 2] = ["--restart", "on-failure"];
const WHY: &str = "the environment that the next attempt would need";

#[test]
fn an_attempt_that_outlives_both_keepers_is_the_last_and_its_outcome_is_known() {
    let world = World::new();
    let script = format!("{NOTED}until [ -e \"$GO\" ]; do sleep 0.02; done; exit 3");
    start(&world, &OPTIONS, &script);
    until("it runs", || !runs(&world).is_empty());
    world.kill_both("job");
    // The next verb adopts the job.
    assert_eq!(world.show("job")["state"], "running");
    let_go(&world);
    let job = world.wait("job");
    assert_eq!(job["exit_code"], 3, "{job}");
    assert!(
        job["not_restarted"].as_str().unwrap().contains(WHY),
        "{job}"
    );
    assert_nothing_is_left(&world, "job");
    assert_eq!(runs(&world), ["start"]);
    let text = world.ok(&["show", "job"]);
    assert!(text.contains("not restarted"), "{text}");
}

#[test]
fn a_job_whose_keepers_are_killed_in_a_pause_ends_as_its_last_attempt_did() {
    let world = World::new();
    start(&world, &OPTIONS, &format!("{NOTED}{END}exit 3"));
    until("it waits", || world.show("job")["state"] == "waiting");
    world.kill_both("job");
    let job = world.wait("job");
    assert_eq!(
        (&job["exit_code"], &job["ended_by"]),
        (&3.into(), &"itself".into()),
        "{job}"
    );
    assert!(
        job["not_restarted"].as_str().unwrap().contains(WHY),
        "{job}"
    );
    assert_nothing_is_left(&world, "job");
    assert_eq!(
        runs(&world).len() as u64,
        2 * job["attempt"].as_u64().unwrap()
    );
}

/// What becomes of a job whose first pair is killed at a step of the next start.
#[test]
fn both_keepers_killed_at_any_step_never_start_an_attempt_twice() {
    let steps = [
        "AttemptEnded",
        "AttemptReaped",
        "AttemptDue",
        "GateParked",
        "Forked#2",
        "Spawned#2",
        "GateOpened#2",
        "Executed#2",
    ];
    every(
        &steps,
        |step| format!("both killed at {step}"),
        |step| {
            let world = World::new();
            let script = format!("{NOTED}sleep 0.1; {END}exit 3");
            let hooks = format!("keeper:{step}=kill-both");
            let ran = start_with_hooks(&world, &hooks, &OPTIONS, &script);
            assert_eq!(ran.code, 0, "{ran:?}");
            until("both keepers are gone", || {
                let pair = world.pair("job");
                ![Some(pair.keeper), pair.standby]
                    .into_iter()
                    .flatten()
                    .any(outlive_testkit::processes::is_alive)
            });
            let job = world.wait("job");
            assert_nothing_is_left(&world, "job");
            let has_run_twice = ["GateOpened#2", "Executed#2"].contains(step);
            let expected = if has_run_twice { 4 } else { 2 };
            assert_eq!(runs(&world).len(), expected, "{:?}", runs(&world));
            assert_eq!(world.events("job", "ended").len(), 1);
            match job["exit_code"].as_i64() {
                Some(code) => assert_eq!(code, 3, "{job}"),
                // Nobody saw the second attempt end, or begin.
                None => assert_eq!(job["outcome"]["kind"], "lost", "{job}"),
            }
        },
    );
}

#[test]
fn what_the_last_attempt_left_is_stopped_although_both_keepers_are_gone() {
    let world = World::new();
    let leaves = "(trap '' TERM; while :; do sleep 0.02; done) & exit 3";
    let hooks = "keeper:AttemptEnded=kill-both";
    let ran = start_with_hooks(
        &world,
        hooks,
        &["--restart", "always", "--grace", "100ms"],
        leaves,
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    until("the attempt has ended", || {
        !world.events("job", "attempt_ended").is_empty()
    });
    let job = world.wait("job");
    assert_eq!(job["exit_code"], 3, "{job}");
    assert_nothing_is_left(&world, "job");
}
