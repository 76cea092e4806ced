//! `inbox --follow` prints one JSON line for each event until it is interrupted.

use super::{
    Consumer, ME, ack, assert_nothing_waits, end_event, ended, inbox, only_event, post, waiting,
};
use outlive_testkit::checks::keepings;
use outlive_testkit::processes::{kill_for_good, until_blocked};
use outlive_testkit::scripts::{WAITS, let_go, ok};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Stdio;

fn follower(world: &World, options: &[&str]) -> Consumer {
    Consumer::of(world, &[&["--follow"], options].concat())
}

#[test]
fn each_event_is_printed_as_a_line_and_acked() {
    let world = World::new();
    let before = ended(&world, "true");
    let mut follower = follower(&world, &["--ack-all"]);
    assert_eq!(follower.line()["event"], json!(end_event(&world, &before)));
    for code in [0, 3] {
        let id = ended(&world, &format!("exit {code}"));
        let event = follower.line();
        assert_eq!(event["event"], json!(end_event(&world, &id)));
        assert_eq!(event["data"]["exit_code"], code);
        until("it is acked", || waiting(&world, ME) == 0);
    }
    let posted = post(&world, &json!({"goal": "g"}), &[]);
    assert_eq!(follower.line()["event"], json!(posted));
    until("it is acked", || waiting(&world, ME) == 0);
    kill_for_good(follower.pid());
    assert_nothing_waits(&world);
}

#[test]
fn an_event_that_was_not_acked_comes_again() {
    let world = World::new();
    let id = ended(&world, "true");
    let mut follower = follower(&world, &["--claim", "1s"]);
    let mut last = 0;
    for _ in 0..3 {
        let event = follower.line();
        assert_eq!(event["event"], json!(end_event(&world, &id)));
        // On a busy machine, a claim may expire before its event is printed. Then the attempt number grows by more
        // than one.
        let attempt = event["attempt"].as_u64().unwrap();
        assert!(attempt > last, "{event}");
        last = attempt;
    }
    ack(&world, &end_event(&world, &id));
    let next = post(&world, &json!({}), &[]);
    // A fourth delivery may come before the ack takes effect.
    let event = follower.line();
    let event = if event["job"] == json!(id) {
        follower.line()
    } else {
        event
    };
    assert_eq!(event["event"], json!(next));
}

#[test]
fn follow_with_peek_prints_each_event_once() {
    let world = World::new();
    let first = ended(&world, "true");
    let mut follower = follower(&world, &["--peek"]);
    assert_eq!(follower.line()["job"], json!(first));
    until_blocked(follower.pid());
    let second = ended(&world, "true");
    assert_eq!(follower.line()["job"], json!(second));
    until_blocked(follower.pid());
    let events = inbox(&world, &[])["events"].clone();
    let attempts: Vec<&Value> = events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| &event["attempt"])
        .collect();
    assert_eq!(attempts, [1, 1]);
    kill_for_good(follower.pid());
    assert_eq!(follower.end().stdout, "");
}

#[test]
fn follow_as_text_prints_a_block_for_each_event() {
    let world = World::new();
    let id = ended(&world, "true");
    let mut command = world.command(["inbox", "--session", ME, "--follow", "--format", "text"]);
    command.arg("--ack-all");
    let follower = Consumer::begin(command);
    until("it is acked", || waiting(&world, ME) == 0);
    kill_for_good(follower.pid());
    let ran = follower.end();
    let expected = format!("[{}] Job {id} succeeded", end_event(&world, &id));
    assert!(ran.stdout.starts_with(&expected), "{ran:?}");
}

/// Events that it claimed without a reader would be delayed for everybody.
#[test]
fn a_follower_whose_reader_is_gone_claims_nothing() {
    for options in [&["--follow"][..], &["--follow", "--peek"], &["--wait"]] {
        let world = World::new();
        let own = ["inbox", "--session", ME, "--json"];
        let mut command = world.command([&own, options].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        until_blocked(child.id() as i32);
        drop(child.stdout.take());
        until("it has ended", || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        ended(&world, "true");
        assert_eq!(only_event(&inbox(&world, &[]))["attempt"], 1);
    }
}

/// Fifty jobs. Every fifth loses both keepers, and every third of the others its keeper.
#[test]
fn many_jobs_are_followed_whatever_becomes_of_their_keepers() {
    let world = World::new();
    let mut follower = follower(&world, &["--ack-all"]);
    let script = format!("{WAITS} exit 7");
    let start = || ok(&world, &["run", "--session", ME, "--shell", &script]);
    let ids: Vec<String> = (0..50).map(|_| start()).collect();
    until_blocked(follower.pid());
    for (number, id) in ids.iter().enumerate() {
        if number % 5 == 0 {
            world.kill_both(id);
        } else if number % 3 == 0 {
            kill_for_good(world.pair(id).keeper);
        }
    }
    // The exit status of a job that ends before it is adopted is lost.
    for id in ids.iter().step_by(5) {
        until("it is adopted", || {
            keepings(&world, id).contains(&"adopted".to_owned())
        });
    }
    let_go(&world);
    let mut told = Vec::new();
    for _ in &ids {
        let event = follower.line();
        assert_eq!(event["data"]["exit_code"], 7, "{event}");
        told.push(event["event"].as_str().unwrap().to_owned());
    }
    let expected: BTreeSet<String> = ids.iter().map(|id| end_event(&world, id)).collect();
    assert_eq!(told.iter().cloned().collect::<BTreeSet<_>>(), expected);
    until("all are acked", || waiting(&world, ME) == 0);
    kill_for_good(follower.pid());
    assert_eq!(follower.end().stdout, "");
}
