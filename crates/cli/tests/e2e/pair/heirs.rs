//! The keeper that takes over finishes what the last keeper began.

use outlive_testkit::checks::{assert_nothing_is_left, every, exited, keepings};
use outlive_testkit::processes::{CONT, KILL, STOP, begin, is_alive, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{IGNORES, WAITS, let_go, started, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::process::Child;

#[test]
fn a_heir_keeps_stopping_what_the_keeper_began_to_stop() {
    let world = World::new();
    let script = "trap '' TERM; echo up; while :; do sleep 60; done";
    let id = started(&world, &[], script);
    let mut stop = world.stopping(&[&id], "1s");
    until("the stop is written", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    kill(world.pair(&id).keeper, KILL);
    assert!(stop.wait().unwrap().success());
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 137);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    // The grace time of one second counts from the stop, not from the takeover.
    let ms = job["duration_ms"].as_u64().unwrap();
    assert!(ms >= 1000, "{ms}");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn many_stoppers_and_a_killed_keeper_make_one_stop_and_one_end() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let stops: Vec<Child> = (0..8).map(|_| world.stopping(&[&id], "300ms")).collect();
    until("a stop is written", || {
        !world.events(&id, "stop_requested").is_empty()
    });
    kill(world.pair(&id).keeper, KILL);
    for mut stop in stops {
        assert_eq!(stop.wait().unwrap().code(), Some(0));
    }
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.show(&id)["exit_code"], 137);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_heir_finishes_an_end_without_any_verb_being_called() {
    let hooks = [
        "LeaderEnded",
        "Drained",
        "OutputSynced",
        "EndedRecorded",
        "Noted",
        "Told",
        "Reaped",
        "Retired",
    ];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let script = format!("{WAITS} echo hello; exit 7");
            let hooks = format!("keeper:{hook}=kill");
            let mut run = with_go(&world, &["run", "--id", "job", "--shell", &script]);
            assert_eq!(Ran::of(run.env("OUTLIVE_HOOKS", hooks)).code, 0);
            let_go(&world);
            assert_nothing_is_left(&world, "job");
            assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
            assert_eq!(world.events("job", "ended").len(), 1);
            assert_eq!(world.events("job", "ended")[0]["outcome"], exited(7));
            assert_eq!(world.output("job"), b"hello\n");
            assert_eq!(world.listed(&[]), ["job"]);
        },
    );
}

/// The keeper opens the gate and is killed, and its heir opens the gate again. Only then does the leader fail. It
/// leaves a message unread, so the connection is reset before the heir reads the reason.
#[test]
fn a_program_that_cannot_be_executed_is_not_started_though_its_gate_was_opened_twice() {
    let world = World::new();
    let mut run = world.command(["run", "--id", "job", "--", "/no/such/program"]);
    run.env(
        "OUTLIVE_HOOKS",
        "keeper:Spawned=stop,keeper:GateOpened=kill,heir:GateOpened=stop",
    );
    let run = begin(run);
    until("the leader is written down", || {
        world.job_dir("job").exists() && !world.events("job", "spawned").is_empty()
    });
    let pair = world.pair("job");
    let leader = world.events("job", "spawned")[0]["leader"]["pid"].as_i64();
    let leader = leader.unwrap() as i32;
    until_stopped(pair.keeper);
    kill(leader, STOP);
    until_stopped(leader);
    kill(pair.keeper, CONT);
    let heir = pair.standby.unwrap();
    until_stopped(heir);
    kill(leader, CONT);
    until("the leader has failed", || !is_alive(leader));
    kill(heir, CONT);
    let ran = Ran::end_of(run);
    assert_eq!(ran.code, 127, "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_eq!(world.events("job", "started"), [Value::Null; 0]);
    assert_nothing_is_left(&world, "job");
}
