//! Killed at any moment, the next one goes on: by a byte offset, by a claim, by an id.

use super::client::Rpc;
use super::telling::waiting;
use outlive_testkit::processes::{KILL, kill};
use outlive_testkit::world::World;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

/// Numbers that look random, and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

#[test]
fn an_output_is_resumed_by_its_offset_without_a_lost_or_doubled_byte() {
    let world = World::new();
    let script = "i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done";
    let job = world.shell(script);
    let expected: String = (0..4000).map(|number| format!("line {number}\n")).collect();
    let mut random = Random(7);
    let mut got = Vec::new();
    let mut kills = 0;
    'job: loop {
        let mut rpc = Rpc::start(&world);
        let from = got.len();
        let id = rpc.ask("follow_output", json!({"job": job, "from": from}));
        let pid = rpc.pid();
        let pause = Duration::from_micros(random.below(40_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(pause);
            kill(pid, KILL);
        });
        while let Some(message) = rpc.soon(id, Duration::from_secs(5)) {
            if message.json.get("reply").is_some() {
                killer.join().unwrap();
                break 'job;
            }
            // What was cut off is not a whole message, and is not counted.
            assert_eq!(message.json["part"]["at"], got.len());
            got.extend(message.raw);
        }
        killer.join().unwrap();
        kills += 1;
        if kills > 60 {
            // A slow machine: read the rest in peace.
            let mut rpc = Rpc::start(&world);
            let id = rpc.ask("follow_output", json!({"job": job, "from": got.len()}));
            got.extend(super::following::whole(&mut rpc, id).0);
            break;
        }
    }
    assert_eq!(
        String::from_utf8(got).unwrap(),
        expected,
        "after {kills} kills"
    );
}

#[test]
fn a_start_and_a_write_are_repeated_safely() {
    let world = World::new();
    let mut random = Random(11);
    let mut whole_rounds = 0;
    'rounds: for round in 0..10 {
        let id = format!("job-{round}");
        let start = json!({"id": id, "input": "pipe", "command": {"shell": "cat"}});
        let write = json!({"job": id, "text": "once\n", "write_id": "w", "eof": true});
        let (mut started, mut written) = (false, false);
        for last in [false, false, true] {
            let mut rpc = Rpc::start(&world);
            let run = rpc.ask("run", start.clone());
            let pid = rpc.pid();
            let pause = Duration::from_micros(random.below(30_000));
            let killer = (!last).then(|| {
                std::thread::spawn(move || {
                    std::thread::sleep(pause);
                    kill(pid, KILL);
                })
            });
            if let Some(answer) = rpc.soon(run, Duration::from_secs(10)) {
                let is_taken = answer.json["error"]["code"] == "id_taken";
                assert!(is_taken || answer.json["reply"]["id"] == *id, "{answer:?}");
                started = true;
                if last {
                    let sent = rpc.reply("send", write.clone());
                    // A process that is killed before the keeper exists leaves a job that was not started.
                    if sent["sent"] != true {
                        assert_eq!(world.show(&id)["outcome"]["kind"], "not_started");
                        continue 'rounds;
                    }
                    written = true;
                }
            }
            if let Some(killer) = killer {
                killer.join().unwrap();
            }
        }
        assert!(started && written);
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_eq!(world.ok(&["log", &id, "--raw"]), "once");
        whole_rounds += 1;
    }
    assert!(whole_rounds > 5, "most starts are made");
}

#[test]
fn every_end_is_told_and_none_after_its_ack() {
    let world = World::new();
    let mut random = Random(13);
    let ids: Vec<String> = (0..12)
        .map(|number| {
            let script = format!("sleep 0.{}; exit {number}", number % 10);
            world.ok(&["run", "--session", "s", "--shell", &script])
        })
        .collect();
    let (mut told, mut acked) = (BTreeSet::new(), BTreeSet::new());
    for round in 0.. {
        assert!(round < 300, "told so far: {told:?}");
        let mut rpc = Rpc::start(&world);
        let follow = rpc.ask("follow_events", json!({}));
        let pid = rpc.pid();
        let pause = Duration::from_millis(20 + random.below(200));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(pause);
            kill(pid, KILL);
        });
        while let Some(message) = rpc.soon(follow, Duration::from_secs(5)) {
            let event = message.json["part"]["event"].as_str().unwrap().to_owned();
            let job = message.json["part"]["job"].as_str().unwrap().to_owned();
            assert!(!acked.contains(&job), "{event} came after its ack");
            told.insert(job.clone());
            let ack = json!({"id": "ack", "verb": "ack", "request": {"events": [event]}});
            let limit = Duration::from_secs(5);
            // If the process is killed before it answers, the ack may be on the disk or not.
            if rpc.try_say(&ack) && rpc.soon_of(&json!("ack"), limit).is_some() {
                acked.insert(job);
            }
        }
        killer.join().unwrap();
        if told.len() == ids.len() && waiting(&world, "s").is_empty() {
            break;
        }
    }
    assert_eq!(told, ids.into_iter().collect());
}
