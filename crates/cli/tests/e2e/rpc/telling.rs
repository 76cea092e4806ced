//! What counts as told: only what is acknowledged.

use super::client::Rpc;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::time::Duration;

pub fn waiting(world: &World, session: &str) -> Vec<Value> {
    let peeked = world.json(&["inbox", "--session", session, "--peek", "--json"]);
    peeked["events"].as_array().unwrap().clone()
}

fn start(rpc: &mut Rpc, session: &str) -> String {
    let job = rpc.run(json!({"command": {"shell": "echo done; exit 2"}, "session": session}));
    rpc.end_of(&job);
    job
}

#[test]
fn looking_never_counts() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = start(&mut rpc, "s");
    rpc.reply("show", json!({"job": job}));
    rpc.reply("log", json!({"job": job}));
    rpc.reply("stop", json!({"jobs": [job]}));
    let output = rpc.ask("follow_output", json!({"job": job}));
    rpc.answer(output);
    let peeked = rpc.ask("follow_events", json!({"sessions": ["s"], "peek": true}));
    assert_eq!(rpc.of_request(peeked).json["part"]["job"], *job);
    assert!(
        rpc.soon(peeked, Duration::from_millis(300)).is_none(),
        "once"
    );
    assert_eq!(waiting(&world, "s").len(), 1);
}

#[test]
fn events_of_all_sessions_come_once_and_are_acknowledged() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let before = start(&mut rpc, "a");
    let all = rpc.ask("follow_events", json!({}));
    assert_eq!(rpc.of_request(all).json["part"]["job"], *before);
    let after = start(&mut rpc, "b/ü");
    let event = rpc.of_request(all).json["part"].clone();
    assert_eq!(
        (&event["job"], &event["session"]),
        (&json!(after), &json!("b/ü"))
    );
    rpc.reply("ack", json!({"events": [event["event"]], "jobs": [before]}));
    assert!(rpc.soon(all, Duration::from_millis(300)).is_none());
    assert!(waiting(&world, "a").is_empty() && waiting(&world, "b/ü").is_empty());
}

#[test]
fn only_the_sessions_that_were_asked_for_are_told() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let of_a = rpc.ask("follow_events", json!({"sessions": ["a"]}));
    let other = start(&mut rpc, "b");
    let own = start(&mut rpc, "a");
    assert_eq!(rpc.of_request(of_a).json["part"]["job"], *own);
    assert_eq!(waiting(&world, "b")[0]["job"], *other);
}

#[test]
fn what_was_not_acknowledged_comes_again_as_soon_as_the_process_is_gone() {
    let world = World::new();
    let mut first = Rpc::start(&world);
    let job = start(&mut first, "s");
    let follow = |rpc: &mut Rpc| {
        let id = rpc.ask("follow_events", json!({"sessions": ["s"]}));
        rpc.of_request(id).json["part"].clone()
    };
    let event = follow(&mut first);
    assert_eq!(event["job"], *job);
    let mut beside = Rpc::start(&world);
    let waits = beside.ask("follow_events", json!({}));
    let nothing = beside.soon(waits, Duration::from_millis(300));
    assert!(
        nothing.is_none(),
        "it is claimed for the first: {nothing:?}"
    );
    first.kill();
    let mut second = Rpc::start(&world);
    let again = follow(&mut second);
    assert_eq!(again["event"], event["event"]);
    second.reply("ack", json!({"events": [event["event"]]}));
    second.kill();
    let mut third = Rpc::start(&world);
    let id = third.ask("follow_events", json!({}));
    assert!(
        third.soon(id, Duration::from_millis(300)).is_none(),
        "it was acknowledged"
    );
}

#[test]
fn a_wait_for_its_session_counts_when_the_harness_says_so() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.run(json!({"command": {"shell": "sleep 0.1"}, "session": "s"}));
    let unread = rpc.ask_with("wait", json!({"jobs": [job]}), json!({"as": "s"}));
    let answer = rpc.answer(unread);
    assert_eq!(answer["receipt"], true, "{answer}");
    rpc.kill();
    assert_eq!(
        waiting(&world, "s").len(),
        1,
        "nobody said that it was read"
    );
    let mut rpc = Rpc::start(&world);
    let read = rpc.ask_with("wait", json!({"jobs": [job]}), json!({"as": "s"}));
    rpc.answer(read);
    rpc.say(&json!({"told": read}));
    outlive_testkit::waiting::until("the session was told", || waiting(&world, "s").is_empty());
    let other = rpc.ask_with("wait", json!({"jobs": [job]}), json!({"as": "t"}));
    assert_eq!(rpc.answer(other)["reply"]["jobs"][0]["id"], *job);
}

#[test]
fn an_answer_without_a_speaker_has_no_receipt() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = start(&mut rpc, "s");
    let wait = rpc.ask("wait", json!({"jobs": [job]}));
    assert_eq!(rpc.answer(wait).get("receipt"), None);
    let log = json!({"job": job, "part": {"bytes": {"from": 0, "to": null}}});
    let own = rpc.ask_with("log", log.clone(), json!({"as": "s"}));
    assert_eq!(rpc.answer(own)["receipt"], true);
    let looks = rpc.ask("log", log);
    assert_eq!(rpc.answer(looks).get("receipt"), None);
}

#[test]
fn secrets_are_shown_unless_they_are_not_wanted() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let job = rpc.shell(&format!("echo token {secret}"));
    rpc.end_of(&job);
    let text = |rpc: &mut Rpc, more: Value| {
        let id = rpc.ask_with("log", json!({"job": job}), more);
        rpc.answer(id)["reply"]["text"].as_str().unwrap().to_owned()
    };
    assert!(text(&mut rpc, json!({})).contains(secret));
    let hidden = text(&mut rpc, json!({"redact": true}));
    assert!(!hidden.contains(secret), "{hidden}");
    let raw = rpc.ask_with(
        "follow_output",
        json!({"job": job}),
        json!({"redact": true}),
    );
    assert!(rpc.answer(raw)["error"].is_object());
}
