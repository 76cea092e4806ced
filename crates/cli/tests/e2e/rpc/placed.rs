//! Jobs of a place work through it as those of this machine do.

use super::client::Rpc;
use super::following::whole;
use super::telling::waiting;
use outlive_testkit::gate::Gate;
use outlive_testkit::places::CmdSh;
use outlive_testkit::processes::KILL;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

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

/// Executes what is asked of a sandbox that is lent, until a request is answered. The sandbox is another home here.
#[track_caller]
fn execute_until(rpc: &mut Rpc, lent: i64, answered: i64, there: &Path) -> serde_json::Value {
    loop {
        if let Some(message) = rpc.soon(answered, Duration::from_millis(1)) {
            return message.json;
        }
        let Some(asked) = rpc.soon(lent, Duration::from_millis(20)) else {
            continue;
        };
        let asked = &asked.json["part"]["execute"];
        let Some(command) = asked["command"].as_str() else {
            continue;
        };
        let output = Command::new("env")
            .args(["-i", "PATH=/usr/local/bin:/usr/bin:/bin"])
            .arg(format!("HOME={}", there.display()))
            .args(["sh", "-c", command])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&output.stdout);
        rpc.say(&json!({"answer": lent, "result": {"id": asked["id"], "output": output}}));
    }
}

#[test]
fn a_sandbox_of_the_harness_is_lent_and_runs_a_job() {
    let world = World::new();
    let there = world.path("there");
    fs::create_dir(&there).unwrap();
    let mut rpc = Rpc::start(&world);
    let lent = rpc.ask("place_lend", json!({"name": "box"}));
    let place = rpc.of_request(lent).json["part"]["lent"]["place"].clone();
    assert_eq!(place, "caller:box");
    assert_eq!(rpc.refused("place_lend", json!({"name": "box"})), "refused");
    let start = json!({"id": "far", "place": place, "command": {"shell": "echo $HOME; exit 6"}});
    let run = rpc.ask("run", start);
    let started = execute_until(&mut rpc, lent, run, &there);
    assert_eq!(started["reply"]["id"], "far", "{started}");
    let wait = rpc.ask("wait", json!({"jobs": ["far"]}));
    let ended = execute_until(&mut rpc, lent, wait, &there);
    assert_eq!(ended["reply"]["jobs"][0]["exit_code"], 6);
    let log = rpc.ask("log", json!({"job": "far"}));
    let text = execute_until(&mut rpc, lent, log, &there)["reply"]["text"].clone();
    assert_eq!(text, format!("{}\n", there.display()));
    rpc.say(&json!({"cancel": lent}));
    assert_eq!(rpc.answer(lent)["error"]["code"], "canceled");
    // The answer comes a moment before it is let go. Then it can be lent again.
    until("it can be lent again", || {
        let again = rpc.ask("place_lend", json!({"name": "box"}));
        rpc.of_request(again).json["part"]["lent"].is_object()
    });
}
