//! A slow reader slows nobody else, and costs no memory.

use super::client::Rpc;
use super::following::whole;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Duration;

/// The resident memory of a process, in bytes.
fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kb.unwrap() * 1024
}

#[test]
fn a_window_holds_back_one_output_and_not_the_others() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.shell("head -c 1000000 /dev/zero; exit 3");
    rpc.end_of(&job);
    let window = json!({"window": 100_000});
    let held = rpc.ask_with("follow_output", json!({"job": job}), window);
    let free = rpc.ask("follow_output", json!({"job": job}));
    assert_eq!(whole(&mut rpc, free).0.len(), 1_000_000);
    let mut sent = 0;
    let mut got = 0;
    let mut most = 0;
    loop {
        // All that may be on the way has come.
        let mut since = 0;
        let mut answer = None;
        while let Some(message) = rpc.soon(held, Duration::from_millis(150)) {
            if message.json.get("part").is_none() {
                answer = Some(message.json);
                break;
            }
            since += message.raw.len();
            sent = message.json["sent"].as_u64().unwrap();
        }
        got += since;
        most = most.max(since);
        if let Some(answer) = answer {
            assert_eq!(answer["reply"]["job"]["exit_code"], 3);
            break;
        }
        assert!(since > 0, "{got} bytes came and then no more");
        rpc.say(&json!({"taken": held, "sent": sent}));
    }
    assert_eq!(got, 1_000_000);
    assert!(most <= 100_000 + 65_536, "{most} bytes were on the way");
}

#[test]
fn a_harness_that_does_not_read_slows_no_job_and_costs_no_memory() {
    let world = World::new();
    let mut child = world
        .command(["rpc"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let jobs: Vec<String> = (0..4)
        .map(|_| {
            world.ok(&[
                "run",
                "--max-output",
                "0",
                "--shell",
                "head -c 50000000 /dev/zero",
            ])
        })
        .collect();
    for (id, job) in jobs.iter().enumerate() {
        let ask = json!({"id": id, "verb": "follow_output", "request": {"job": job}});
        writeln!(input, "{ask}").unwrap();
    }
    // Nobody reads, and all of them end.
    for job in &jobs {
        assert_eq!(world.wait(job)["exit_code"], 0);
    }
    let most = memory(child.id() as i32);
    assert!(most < 64 << 20, "{most} bytes");
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let mut got = vec![0u64; jobs.len()];
    let mut answers = 0;
    from.read_line(&mut String::new()).unwrap();
    while answers < jobs.len() {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        let id = message["id"].as_u64().unwrap() as usize;
        match message["bytes"].as_u64() {
            Some(count) => {
                let mut raw = vec![0; count as usize];
                from.read_exact(&mut raw).unwrap();
                assert_eq!(message["part"]["at"], got[id]);
                got[id] += count;
            }
            None => answers += 1,
        }
    }
    assert_eq!(got, [50_000_000; 4]);
    drop(input);
    until("rpc has left", || child.try_wait().unwrap().is_some());
}

#[test]
fn many_requests_that_nobody_reads_the_answers_of_are_bounded_too() {
    let world = World::new();
    let job = world.ok(&["run", "--shell", "head -c 60000 /dev/zero | tr '\\0' 'x'"]);
    world.wait(&job);
    let mut child = world
        .command(["rpc"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let pid = child.id() as i32;
    // Each answer has 60 kB, so that the pipe is full after the second one.
    let asks = std::thread::spawn(move || {
        for id in 0..4000 {
            let part = json!({"bytes": {"from": 0, "to": null}});
            let ask = json!({"id": id, "verb": "log", "request": {"job": job, "part": part, "form": {"page": {"raw": true}}}});
            if writeln!(input, "{ask}").is_err() {
                return;
            }
        }
    });
    std::thread::sleep(Duration::from_secs(2));
    let most = memory(pid);
    assert!(most < 100 << 20, "{most} bytes");
    let mut from = BufReader::new(child.stdout.take().unwrap());
    from.read_line(&mut String::new()).unwrap();
    let mut answers = from.lines();
    let answered = (0..4000).filter(|_| answers.next().is_some_and(|line| line.is_ok()));
    assert_eq!(answered.count(), 4000);
    asks.join().unwrap();
    until("rpc has left", || child.try_wait().unwrap().is_some());
}
