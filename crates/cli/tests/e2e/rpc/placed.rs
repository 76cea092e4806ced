//! Jobs of a place work through it as those of this machine do.

use super::client::Rpc;
use super::following::whole;
use super::telling::waiting;
use outlive_testkit::gate::Gate;
use outlive_testkit::places::CmdSh;
use outlive_testkit::processes::KILL;
use outlive_testkit::world::World;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_job_of_a_place_is_followed_written_to_and_told() {
    let world = World::at(Arc::new(CmdSh::default()));
    let place = CmdSh::default().address(&world.path_there("").join(Path::new(".")));
    let mut rpc = Rpc::start(&world);
    let events = rpc.ask("follow_events", json!({"sessions": ["s"]}));
    let jobs = rpc.ask("follow_jobs", json!({"session": "s"}));
    assert_eq!(rpc.of_request(jobs).json["part"], json!({"current": true}));
    let job = rpc.run(json!({
        "command": {"shell": "echo name; read n; echo hello $n; exit 4"},
        "input": "pipe", "session": "s", "place": place,
    }));
    assert_eq!(rpc.of_request(jobs).json["part"]["job"]["id"], *job);
    let output = rpc.ask("follow_output", json!({"job": job}));
    let wait = rpc.ask("wait", json!({"jobs": [job]}));
    assert_eq!(rpc.of_request(output).raw, b"name\n");
    let input = rpc.reply("wait", json!({"jobs": [job], "what": "input"}));
    assert_eq!(input["met"], json!([job]));
    rpc.reply("send", json!({"job": job, "text": "you", "enter": true}));
    let (rest, end) = whole(&mut rpc, output);
    assert_eq!(rest, b"hello you\n");
    assert_eq!(end["job"]["exit_code"], 4);
    assert_eq!(rpc.answer(wait)["reply"]["jobs"][0]["exit_code"], 4);
    let event = rpc.of_request(events).json["part"].clone();
    assert_eq!(event["job"], *job);
    rpc.reply("ack", json!({"events": [event["event"]]}));
    assert!(waiting(&world, "s").is_empty());
}

#[test]
fn a_killed_courier_costs_no_byte() {
    let world = World::at(Arc::new(CmdSh::default()));
    let place = CmdSh::default().address(&world.path_there("").join(Path::new(".")));
    let mut rpc = Rpc::start(&world);
    let gate = Gate::new(&world);
    let script = format!("echo one; {}", gate.then("seq 1 20000; exit 3"));
    let job = rpc.run(json!({"command": {"shell": script}, "place": place}));
    let output = rpc.ask("follow_output", json!({"job": job}));
    assert_eq!(rpc.of_request(output).raw, b"one\n");
    for courier in world.couriers() {
        courier.signal(KILL);
    }
    gate.open();
    let (rest, end) = whole(&mut rpc, output);
    let expected: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(String::from_utf8(rest).unwrap(), expected);
    assert_eq!(end["job"]["exit_code"], 3);
}
