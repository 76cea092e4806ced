//! A job ends once, even if stops, timeouts and its own exit happen at the same time.

use super::only_end;
use outlive_testkit::checks::{exited, signaled};
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{CONT, is_alive, kill};
use outlive_testkit::scripts::{IGNORES, started};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::process::Child;

#[test]
fn two_stoppers_while_jobs_exit_leave_one_end_each() {
    let world = World::new();
    let gate = Gate::new(&world);
    let ids: Vec<String> = (0..24)
        .map(|n| world.shell(&gate.then(&format!("sleep 0.0{:02}; exit 7", n * 2))))
        .collect();
    gate.open();
    let stoppers: Vec<Child> = (0..2).map(|_| world.stopping(&ids, "5s")).collect();
    for mut stopper in stoppers {
        assert_eq!(stopper.wait().unwrap().code(), Some(0));
    }
    for id in &ids {
        assert_one_consistent_end(&world, id);
    }
}

/// Checks that the job ended once, and that the outcome fits the cause.
fn assert_one_consistent_end(world: &World, id: &str) {
    let end = only_end(world, id);
    let asked = world.events(id, "stop_requested").len();
    let exited = exited(7);
    let terminated = signaled("SIGTERM");
    match asked {
        0 => assert_eq!(
            (&end["outcome"], &end["ended_by"]),
            (&exited, &json!("itself"))
        ),
        1 => {
            assert_eq!(end["ended_by"], "stop");
            assert!(
                [exited, terminated].contains(&end["outcome"]),
                "{}",
                end["outcome"]
            );
        }
        more => panic!("{more} stops were written down"),
    }
    assert_eq!(world.events(id, "closed").len(), 1);
}

#[test]
fn a_job_that_exits_just_before_the_stop_ended_by_itself() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:LeaderEnded=stop", &gate.then("exit 7"));
    gate.open();
    let keeper = world.until_keeper_stops(&id);
    let mut stopper = world.stopping(std::slice::from_ref(&id), "5s");
    kill(keeper, CONT);
    assert_eq!(stopper.wait().unwrap().code(), Some(0));
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"], exited(7));
    assert_eq!(end["ended_by"], "itself");
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}

#[test]
fn a_job_that_exits_while_the_stop_is_written_has_one_end() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:StopWritten=stop", &gate.then("exit 7"));
    let mut stopper = world.stopping(std::slice::from_ref(&id), "5s");
    let keeper = world.until_keeper_stops(&id);
    let leader = world.leader(&id);
    gate.open();
    until("the leader has ended", || !is_alive(leader));
    kill(keeper, CONT);
    assert_eq!(stopper.wait().unwrap().code(), Some(0));
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"], exited(7));
    assert_eq!(end["ended_by"], "stop");
}

#[test]
fn a_timeout_that_passes_while_stopping_changes_nothing() {
    let world = World::new();
    let id = started(&world, &["--timeout", "1s", "--grace", "1500ms"], IGNORES);
    world.ok(&["stop", &id]);
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"]["signal"], "SIGKILL");
    assert_eq!(end["ended_by"], "stop");
    let asked = world.events(&id, "stop_requested");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["by"], "stop");
    assert!(end["duration_ms"].as_u64().unwrap() > 1000, "{end}");
}

#[test]
fn a_stop_while_timing_out_changes_nothing() {
    let world = World::new();
    let id = started(&world, &["--timeout", "500ms", "--grace", "1s"], IGNORES);
    until("the time is up", || {
        world.events(&id, "stop_requested").len() == 1
    });
    world.ok(&["stop", &id]);
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"]["signal"], "SIGKILL");
    assert_eq!(end["ended_by"], "timeout");
    let asked = world.events(&id, "stop_requested");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["by"], "timeout");
}

#[test]
fn stops_and_timeouts_at_the_same_moment_leave_one_end_each() {
    let world = World::new();
    let ids: Vec<String> = (0..12)
        .map(|_| world.ok(&["run", "--timeout", "1s", "--", "sleep", "60"]))
        .collect();
    until("the first one's time is up", || {
        world.events(&ids[0], "stop_requested").len() == 1
    });
    let stoppers: Vec<Child> = (0..2).map(|_| world.stopping(&ids, "5s")).collect();
    for mut stopper in stoppers {
        assert_eq!(stopper.wait().unwrap().code(), Some(0));
    }
    for id in &ids {
        let end = only_end(&world, id);
        let asked = world.events(id, "stop_requested");
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(end["ended_by"], asked[0]["by"]);
        assert_eq!(end["outcome"]["signal"], "SIGTERM");
    }
}

#[test]
fn two_stoppers_at_once_are_both_served_by_one_stop() {
    let world = World::new();
    let id = started(&world, &["--grace", "500ms"], IGNORES);
    let ids = [id.clone()];
    let stoppers: Vec<Child> = (0..2).map(|_| world.stopping(&ids, "500ms")).collect();
    for mut stopper in stoppers {
        assert_eq!(stopper.wait().unwrap().code(), Some(0));
    }
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(only_end(&world, &id)["outcome"]["signal"], "SIGKILL");
}
