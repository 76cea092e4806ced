//! What a session is told: every event, until the session has acked it.

use super::Case;
use super::steps::{delivered, kinds, run, start};
use crate::waiting::until;
use serde_json::Value;
use std::thread;
use std::time::Duration;

pub const CASES: &[Case] = &[
    Case {
        name: "an_end_is_told_once",
        promise: "the job's session gets the end once, and no other session gets it",
        check: |world| {
            let id = start(world, &["--session", "s"], "echo out; exit 4");
            world.wait(&id);
            let events = delivered(world, "s");
            assert_eq!(kinds(&events), ["ended"]);
            let event = &events[0];
            assert_eq!(event["job"], *id);
            assert_eq!(event["data"]["exit_code"], 4, "{event}");
            assert!(event["text"].as_str().unwrap().contains("exit code 4"));
            assert_eq!(delivered(world, "s"), [Value::Null; 0], "it is claimed");
        },
    },
    Case {
        name: "an_acked_end_is_never_told_again",
        promise: "an ack outlasts the claim; it can be repeated",
        check: |world| {
            let id = start(world, &["--session", "s"], "true");
            world.wait(&id);
            let claim = ["inbox", "--session", "s", "--json", "--claim", "500ms"];
            let inbox = world.json(&claim);
            let event = inbox["events"][0]["event"].as_str().unwrap();
            for _ in 0..2 {
                world.ok(&["inbox", "--session", "s", "--ack", event]);
            }
            // Not a wait: after the claim expired, nothing may come in this time.
            thread::sleep(Duration::from_millis(700));
            assert_eq!(delivered(world, "s"), [Value::Null; 0]);
        },
    },
    Case {
        name: "what_is_not_acked_is_told_again",
        promise: "a receiver that dies before its ack loses nothing: the event comes again, under the same id",
        check: |world| {
            let id = start(world, &["--session", "s"], "true");
            world.wait(&id);
            // Longer than the answer takes on a busy machine: a claim that has run out by then is not told.
            let claim = ["inbox", "--session", "s", "--json", "--claim", "2s"];
            let first = world.json(&claim);
            assert_eq!(first["events"].as_array().map(Vec::len), Some(1));
            let mut again = Vec::new();
            until("the claim has run out", || {
                again = delivered(world, "s");
                !again.is_empty()
            });
            assert_eq!(again[0]["event"], first["events"][0]["event"]);
            assert_eq!(again[0]["attempt"], 2, "{again:?}");
        },
    },
    Case {
        name: "another_session_is_not_told",
        promise: "a session is told only of its own jobs",
        check: |world| {
            let mine = start(world, &["--session", "mine"], "true");
            let other = start(world, &["--session", "other"], "true");
            let (nobody, _) = run(world, &[], "true");
            for id in [&mine, &other, &nobody] {
                world.wait(id);
            }
            let events = delivered(world, "mine");
            assert_eq!(kinds(&events), ["ended"]);
            assert_eq!(events[0]["job"], *mine);
        },
    },
    Case {
        name: "only_failures_are_told_if_that_was_asked_for",
        promise: "--notify failure keeps quiet about success, --notify never about everything",
        check: |world| {
            let jobs = [
                ("failure", "exit 0"),
                ("failure", "exit 1"),
                ("never", "exit 1"),
            ];
            let ids = jobs.map(|(notify, script)| {
                start(world, &["--session", "s", "--notify", notify], script)
            });
            for id in &ids {
                world.wait(id);
            }
            let events = delivered(world, "s");
            assert_eq!(kinds(&events), ["ended"]);
            assert_eq!(events[0]["job"], *ids[1]);
        },
    },
    Case {
        name: "a_session_that_waited_is_not_told_again",
        promise: "what wait has told a session is not in its inbox",
        check: |world| {
            let id = start(world, &["--session", "s"], "exit 2");
            assert_eq!(world.as_session("s", &["wait", &id]).code, 2);
            assert_eq!(delivered(world, "s"), [Value::Null; 0]);
        },
    },
    Case {
        name: "an_inbox_can_be_waited_for",
        promise: "inbox --wait returns when there is news, and with 124 when none comes in time",
        check: |world| {
            let none = world.outlive(&["inbox", "--session", "s", "--wait=200ms"]);
            assert_eq!(none.code, 124, "{none:?}");
            let waiter = world.begin(&["inbox", "--session", "s", "--wait=30s", "--json"]);
            let id = start(world, &["--session", "s"], "exit 3");
            let ran = super::steps::end_of(waiter);
            assert_eq!(ran.code, 0, "{ran:?}");
            let inbox: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(inbox["events"][0]["job"], *id, "{inbox}");
        },
    },
];
