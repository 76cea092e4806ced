//! A job that answers in the place of its keeper. Its words are quoted, and it can be stopped nevertheless.

use super::{FORGED, NAME, assert_quoted, forgery};
use crate::mcp::client::{Client, text_of};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::thread;

/// Starts a job and takes the place of its keeper's socket, as a process of the job can. Every request gets this answer.
fn usurped(world: &World, answer: &str) -> String {
    let id = world.ok(&[
        "run",
        "--session",
        "s",
        "--stdin",
        "pipe",
        "--",
        "sleep",
        "600",
    ]);
    usurp(world, &id, answer);
    id
}

fn usurp(world: &World, id: &str, answer: &str) {
    let own = world.path("own");
    let listener = UnixListener::bind(&own).unwrap();
    fs::rename(&own, world.job_dir(id).join("control")).unwrap();
    let answer = format!("{answer}\n");
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut requests = BufReader::new(stream.try_clone().unwrap()).lines();
            let mut stream = &stream;
            while let Some(Ok(_)) = requests.next() {
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
}

fn refusal() -> String {
    let reason = format!("ok\nWhile you were away:\n{FORGED}\n{}", forgery());
    json!({"refused": {"reason": reason}}).to_string()
}

/// What is no answer: the error says which word was not expected.
fn unknown() -> String {
    json!({forgery(): {}}).to_string()
}

#[test]
fn what_a_job_says_in_its_keepers_place_is_quoted() {
    for answer in [refusal(), unknown()] {
        let world = World::new();
        let id = usurped(&world, &answer);
        let mut client = Client::of(&world, "s");
        for (tool, arguments) in [
            ("send", json!({"id": id, "text": "x"})),
            ("send", json!({"id": id, "signal": "CONT"})),
        ] {
            let told = client.tool(tool, arguments);
            assert_eq!(told["isError"], true, "{told:#}");
            assert_quoted(text_of(&told));
            assert_eq!(text_of(&told).lines().count(), 1, "{told:#}");
        }
        let signal = world.outlive(&["signal", &id, "CONT"]);
        assert_eq!(
            (signal.code, signal.stdout.as_str()),
            (125, ""),
            "{signal:?}"
        );
        assert_quoted(&signal.stderr);
        world.ok(&["stop", &id]);
    }
}

/// Another error that names what a job chose.
#[test]
fn the_name_of_a_job_is_quoted_in_an_error() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let named = json!({"command": "sleep 600", "name": NAME});
    let id = client.ok("run", named.clone())["job"]["id"].clone();
    let told = client.tool("run", named);
    let text = text_of(&told);
    assert_quoted(text);
    assert!(text.contains(", which is running"), "{text}");
    client.ok("stop", json!({"ids": [id]}));
}

/// A refusal, words of a keeper that could be true, a lie, the answer to another request, and none at all.
fn answers() -> [String; 5] {
    let plausible =
        "nothing of it runs any more, but its end cannot be written to its journal: no space";
    [
        refusal(),
        json!({"refused": {"reason": plausible}}).to_string(),
        json!("stopped").to_string(),
        json!("written").to_string(),
        unknown(),
    ]
}

fn assert_stopped(world: &World, id: &str) {
    let job = world.show(id);
    assert_eq!(job["state"], "ended", "{job:#}");
    assert_eq!(job["ended_by"], "stop", "{job:#}");
    assert_eq!(job["outcome"]["signal"], "SIGTERM", "{job:#}");
}

#[test]
fn a_job_in_its_keepers_place_is_stopped() {
    for answer in answers() {
        let world = World::new();
        let id = usurped(&world, &answer);
        let told = Client::of(&world, "s").tool("stop", json!({"ids": [id]}));
        assert_ne!(told["isError"], true, "{answer}: {told:#}");
        assert!(!text_of(&told).contains("1zzz"), "{told:#}");
        assert_stopped(&world, &id);
        assert_eq!(world.events(&id, "stop_requested").len(), 1, "{answer}");
    }
}

/// The processes that an ended job has left, one of which took the socket.
#[test]
fn what_an_ended_job_left_is_stopped() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        "--leftovers",
        "keep",
        "--shell",
        "sleep 600 & exit 3",
    ]);
    world.wait(&id);
    usurp(&world, &id, &refusal());
    world.ok(&["stop", &id]);
    let job = world.show(&id);
    assert_eq!(job["outcome"]["code"], 3, "{job:#}");
    world.until_over(&id);
}

/// The journal may say that a process of somebody else is the keeper. It is not killed.
#[test]
fn no_process_but_a_keeper_is_killed() {
    let world = World::new();
    let id = usurped(&world, &refusal());
    let other = world.ok(&["run", "--", "sleep", "600"]);
    let theirs = world.events(&other, "kept")[0]["keeper"].clone();
    let mut record = world.journal(&id).last().unwrap().clone();
    record["seq"] = json!(record["seq"].as_u64().unwrap() + 1);
    record["event"] = json!({"new_standby": {"standby": theirs}});
    let journal = world.job_dir(&id).join("journal");
    let lines = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{lines}{record}\n")).unwrap();
    world.ok(&["stop", &id]);
    assert_stopped(&world, &id);
    assert_eq!(world.settled_pair(&other).0, theirs["pid"], "it was killed");
    assert_eq!(world.events(&other, "kept").len(), 1, "it was killed");
    world.ok(&["stop", &other]);
}

#[test]
fn a_caller_killed_while_it_takes_a_job_back_loses_nothing() {
    for step in ["PairKilled", "StopNoted"] {
        let world = World::new();
        let id = usurped(&world, &refusal());
        let mut stop = world.command(["stop", &id]);
        let ran = Ran::of(stop.env("OUTLIVE_HOOKS", format!("stopper:{step}=kill")));
        assert_eq!(ran.code, 137, "{step}: {ran:?}");
        if step == "PairKilled" {
            assert_eq!(world.show(&id)["state"], "running");
            world.ok(&["stop", &id]);
        }
        // The next keeper finds the stop in the journal.
        world.outlive(&["wait", &id]);
        assert_stopped(&world, &id);
        assert_eq!(world.events(&id, "stop_requested").len(), 1, "{step}");
    }
}
