//! Outputs and lists that are followed, and what ends that.

use super::client::{LONG, Rpc};
use outlive_testkit::gate::Gate;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::time::Duration;

/// Everything that a request to follow an output brings, and its answer.
#[track_caller]
pub fn whole(rpc: &mut Rpc, id: i64) -> (Vec<u8>, Value) {
    let mut bytes = Vec::new();
    loop {
        let message = rpc.of_request(id);
        match message.json.get("part") {
            Some(_) => bytes.extend(message.raw),
            None => return (bytes, message.json["reply"].clone()),
        }
    }
}

#[test]
fn an_output_comes_as_it_is_written_and_from_any_byte() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let gate = Gate::new(&world);
    let script = format!(
        "printf 'a\\0\\377b'; {}; printf end; exit 4",
        gate.then(":")
    );
    let job = rpc.shell(&script);
    let first = rpc.ask("follow_output", json!({"job": job}));
    assert_eq!(rpc.of_request(first).raw, b"a\0\xffb");
    let second = rpc.ask("follow_output", json!({"job": job, "from": 2}));
    assert_eq!(rpc.of_request(second).raw, b"\xffb");
    gate.open();
    for id in [first, second] {
        let (rest, end) = whole(&mut rpc, id);
        assert_eq!(rest, b"end");
        assert_eq!(end["at"], 7);
        assert_eq!(end["job"]["exit_code"], 4);
    }
    let late = rpc.ask("follow_output", json!({"job": job, "from": 4}));
    assert_eq!(whole(&mut rpc, late).0, b"end");
    let beyond = rpc.ask("follow_output", json!({"job": job, "from": 99}));
    assert_eq!(whole(&mut rpc, beyond).0, b"");
}

#[test]
fn split_streams_are_told_apart_or_read_alone() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let script = "echo out; sleep 0.2; echo err >&2; sleep 0.2; echo more";
    let job = rpc.run(json!({"command": {"shell": script}, "streams": "split"}));
    let only = rpc.ask("follow_output", json!({"job": job, "stream": "stderr"}));
    let both = rpc.ask("follow_output", json!({"job": job, "apart": true}));
    assert_eq!(whole(&mut rpc, only).0, b"err\n");
    let mut parts = Vec::new();
    while let Some(part) = Some(rpc.of_request(both)).filter(|it| it.json.get("part").is_some()) {
        parts.push((part.json["part"]["stream"].clone(), part.raw));
    }
    let expected = [
        ("stdout", "out\n"),
        ("stderr", "err\n"),
        ("stdout", "more\n"),
    ];
    let expected = expected.map(|(stream, text)| (json!(stream), text.as_bytes().to_vec()));
    assert_eq!(parts, expected);
    let merged = rpc.shell("true");
    let wrong = json!({"job": merged, "stream": "stdout"});
    assert_eq!(rpc.refused("follow_output", wrong), "refused");
}

#[test]
fn what_was_dropped_is_said() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let script = "head -c 1000000 /dev/zero | tr '\\0' x";
    let job = rpc.run(json!({"command": {"shell": script}, "max_output": 65536}));
    rpc.end_of(&job);
    let id = rpc.ask("follow_output", json!({"job": job}));
    let (mut at, mut dropped) = (0, 0);
    let end = loop {
        let message = rpc.of_request(id);
        let Some(part) = message.json.get("part") else {
            break message.json["reply"].clone();
        };
        match part.get("dropped") {
            Some(range) => {
                assert_eq!(range[0], at);
                at = range[1].as_u64().unwrap();
                dropped += at - range[0].as_u64().unwrap();
            }
            None => {
                assert_eq!(part["at"], at);
                at += message.raw.len() as u64;
            }
        }
    };
    assert_eq!((at, end["at"].as_u64()), (1_000_000, Some(1_000_000)));
    assert_eq!(end["job"]["output"]["dropped_bytes"], dropped);
    assert!(dropped > 900_000, "{dropped}");
}

#[test]
fn a_list_is_followed_from_start_to_removal() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let gate = Gate::new(&world);
    let before = rpc.shell(&gate.then(":"));
    let other = rpc.run(json!({"command": {"shell": "sleep 60"}, "session": "other"}));
    let all = rpc.ask("follow_jobs", json!({}));
    let one = rpc.ask("follow_jobs", json!({"session": "s"}));
    let mut there = Vec::new();
    let current = loop {
        let part = rpc.of_request(all).json["part"].clone();
        match part["job"]["id"].as_str() {
            Some(id) => there.push(id.to_owned()),
            None => break part,
        }
    };
    assert_eq!(current, json!({"current": true}));
    assert_eq!(there, [before.clone(), other]);
    assert_eq!(rpc.of_request(one).json["part"], json!({"current": true}));
    // Another program starts a job.
    let new = world.ok(&["run", "--session", "s", "--shell", &gate.then(":")]);
    assert_eq!(rpc.of_request(one).json["part"]["job"]["id"], *new);
    world.ok(&["label", &new, "k=v"]);
    let labelled = until_job(&mut rpc, one, |job| job["labels"]["k"] == "v");
    assert_eq!(labelled["state"], "running");
    gate.open();
    until_job(&mut rpc, one, |job| job["state"] == "ended");
    let ended = until_job(&mut rpc, all, |job| {
        job["id"] == *before && job["state"] == "ended"
    });
    assert_eq!(ended["exit_code"], 0);
    world.ok(&["label", &new, "k=w"]);
    until_job(&mut rpc, one, |job| job["labels"]["k"] == "w");
    world.ok(&["prune", "--session", "s", "--force"]);
    assert_eq!(rpc.of_request(one).json["part"], json!({"gone": new}));
}

/// Waits for a change that fits.
#[track_caller]
fn until_job(rpc: &mut Rpc, id: i64, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        let job = rpc.of_request(id).json["part"]["job"].clone();
        if fits(&job) {
            return job;
        }
    }
}

#[test]
fn a_wait_answers_when_it_has_come_or_the_time_is_up() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let gate = Gate::new(&world);
    let slow = rpc.shell(&format!("{}; exit 5", gate.then(":")));
    let quick = rpc.shell("exit 6");
    let both = rpc.ask("wait", json!({"jobs": [slow, quick]}));
    let any = rpc.reply("wait", json!({"jobs": [slow, quick], "until": "any"}));
    assert_eq!(any["jobs"][1]["exit_code"], 6);
    let late = rpc.reply("wait", json!({"jobs": [slow], "timeout_ms": 50}));
    assert_eq!(late["out_of_time"], true);
    assert_eq!(late["jobs"][0]["state"], "running");
    gate.open();
    assert_eq!(rpc.answer(both)["reply"]["jobs"][0]["exit_code"], 5);
    assert_eq!(rpc.reply("wait", json!({"jobs": []}))["jobs"], json!([]));
    assert_eq!(
        rpc.refused("wait", json!({"jobs": ["nope"]})),
        "no_such_job"
    );
    let ready = json!({"jobs": [quick], "what": "ready"});
    assert_eq!(rpc.refused("wait", ready), "bad_input");
}

#[test]
fn a_wait_for_readiness_and_one_for_input_are_met() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.run(json!({
        "command": {"shell": "sleep 0.1; echo listening; read line; exit 3"},
        "input": "pipe", "ready": {"line": "listening"},
    }));
    let ready = rpc.reply("wait", json!({"jobs": [job], "what": "ready"}));
    assert_eq!(ready["met"], json!([job]));
    let input = rpc.reply("wait", json!({"jobs": [job], "what": "input"}));
    assert_eq!(input["met"], json!([job]));
    rpc.reply("send", json!({"job": job, "eof": true}));
    assert_eq!(rpc.end_of(&job)["exit_code"], 3);
}

#[test]
fn whatever_is_under_way_is_cancelled_and_everything_else_goes_on() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.shell("trap '' TERM; echo on; while :; do sleep 1; done");
    let output = rpc.ask("follow_output", json!({"job": job}));
    assert_eq!(rpc.of_request(output).raw, b"on\n");
    let jobs = rpc.ask("follow_jobs", json!({"session": "x"}));
    rpc.of_request(jobs);
    let cancelled = [
        output,
        jobs,
        rpc.ask("wait", json!({"jobs": [job]})),
        rpc.ask("follow_events", json!({})),
        rpc.ask("inbox", json!({"session": "x"})),
        rpc.ask("stop", json!({"jobs": [job], "grace_ms": 3_600_000})),
        rpc.ask("follow_usage", json!({"job": job, "every_ms": 3_600_000})),
    ];
    for id in cancelled {
        rpc.say(&json!({"cancel": id}));
    }
    for id in cancelled {
        assert_eq!(rpc.answer(id)["error"]["code"], "canceled", "{id}");
        rpc.say(&json!({"cancel": id}));
    }
    assert!(rpc.soon(output, Duration::from_millis(200)).is_none());
    // The stop had begun, and goes on.
    let stopped = rpc.reply("stop", json!({"jobs": [job], "grace_ms": 0}));
    assert_eq!(stopped["jobs"][0]["ended_by"], "stop");
}

#[test]
fn it_leaves_at_the_end_of_its_input_and_answers_what_has_begun() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.shell("echo on; sleep 60");
    let output = rpc.ask("follow_output", json!({"job": job}));
    rpc.of_request(output);
    rpc.ask("wait", json!({"jobs": [job]}));
    rpc.ask("follow_jobs", json!({}));
    let run = rpc.ask("run", json!({"id": "last", "command": {"shell": "exit 7"}}));
    let begun = std::time::Instant::now();
    assert!(rpc.left().success());
    assert!(begun.elapsed() < LONG / 3, "{:?}", begun.elapsed());
    let is_it = |message: &&super::client::Message| message.json["id"] == run;
    let rest = rpc.rest();
    let answered = rest.iter().find(is_it);
    assert!(answered.is_some_and(|it| it.json["reply"]["id"] == "last"));
    assert_eq!(world.wait("last")["exit_code"], 7);
    assert_eq!(world.show(&job)["state"], "running");
    assert!(
        !world.home().join("bells").exists(),
        "nothing is left behind"
    );
}
