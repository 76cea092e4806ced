//! `signal`.

use super::with_silence;
use outlive_testkit::processes::{state_of, until_stopped};
use outlive_testkit::scripts::{count, started};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

#[test]
fn a_signal_reaches_the_leader_and_its_children() {
    let world = World::new();
    let child = "trap \"echo child\" USR1; echo up; while :; do read -u 9; done";
    let script = format!(
        "trap 'echo leader' USR1\nfor n in 1 2 3; do bash -c '{child}' & done\necho up\nwhile :; do read -u 9; done"
    );
    let id = started(&world, &[], &with_silence(&world, &script));
    until("all are up", || count(&world, &id, "up") == 4);
    let answer = world.json(&["signal", &id, "USR1", "--json"]);
    assert_eq!(
        answer,
        json!({ "id": id, "signal": "SIGUSR1", "reached": 4, "denied": 0 })
    );
    until("all have heard", || {
        count(&world, &id, "child") == 3 && count(&world, &id, "leader") == 1
    });
    assert_eq!(
        world.ok(&["signal", &id, "usr1"]),
        format!("{id} SIGUSR1 sent to 4 processes")
    );
    until("all have heard again", || {
        count(&world, &id, "child") == 6 && count(&world, &id, "leader") == 2
    });
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_signal_may_be_a_number_or_a_name_in_any_spelling() {
    let world = World::new();
    let script = "trap 'echo heard' USR2; echo up; while :; do read -u 9; done";
    let id = started(&world, &[], &with_silence(&world, script));
    for (times, word) in (1..).zip(["12", "USR2", "SIGUSR2", "sigusr2"]) {
        assert_eq!(
            world.ok(&["signal", &id, word]),
            format!("{id} SIGUSR2 sent to 1 process")
        );
        until("it heard", || count(&world, &id, "heard") == times);
    }
}

#[test]
fn bad_signals_are_wrong_usage_and_send_nothing() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for bad in ["", "NOPE", "0", "65", "-1", "SIG", "9x", "TERM "] {
        let ran = world.outlive(&["signal", &id, bad]);
        assert_eq!(ran.code, 2, "{bad:?}: {ran:?}");
        assert_ne!(ran.stderr, "");
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_signal_to_an_ended_job_is_an_error_that_says_so() {
    let world = World::new();
    let id = world.shell("exit 0");
    world.wait(&id);
    let ran = world.outlive(&["signal", &id, "TERM", "--json"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("it has ended"), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["error"]["code"], "refused");
    assert_eq!(world.outlive(&["signal", "nonesuch", "TERM"]).code, 3);
}

#[test]
fn stop_and_cont_signals_suspend_and_continue_the_tree() {
    let world = World::new();
    let id = started(&world, &[], "sleep 60 & echo up; wait");
    let leader = world.leader(&id);
    world.ok(&["signal", &id, "STOP"]);
    until_stopped(leader);
    assert_eq!(world.show(&id)["state"], "running");
    world.ok(&["signal", &id, "CONT"]);
    until("it goes on", || state_of(leader) == Some(b'S'));
}
