//! Waiting for jobs and for what they report while they run.

use super::Case;
use super::steps::{delivered, end_of, kinds, let_go, run, start, wait_for_go};
use crate::ran::ids_of;
use serde_json::Value;

pub const CASES: &[Case] = &[
    Case {
        name: "a_wait_that_times_out_leaves_the_job_alone",
        promise: "wait --timeout exits with 124, and the job is untouched",
        check: |world| {
            let id = start(world, &[], &format!("{}; exit 3", wait_for_go(world)));
            let ran = world.outlive(&["wait", &id, "--timeout", "200ms"]);
            assert_eq!(ran.code, 124, "{ran:?}");
            assert_eq!(world.show(&id)["state"], "running");
            let_go(world);
            assert_eq!(world.outlive(&["wait", &id]).code, 3);
        },
    },
    Case {
        name: "wait_any_returns_with_the_first_end",
        promise: "wait --any exits as the first job that ended, and leaves the others",
        check: |world| {
            let slow = start(world, &[], "exec sleep 60");
            let quick = start(world, &[], &format!("{}; exit 7", wait_for_go(world)));
            let waiter = world.begin(&["wait", "--any", &slow, &quick]);
            let_go(world);
            assert_eq!(end_of(waiter).code, 7);
            assert_eq!(world.show(&slow)["state"], "running");
        },
    },
    Case {
        name: "wait_for_several_exits_as_the_first_that_failed",
        promise: "wait returns when all have ended; its code is the first failure in the order given",
        check: |world| {
            let jobs = ["exit 0", "sleep 0.3; exit 5", "exit 6"];
            let ids = jobs.map(|script| start(world, &[], script));
            let ran = world.outlive(&["wait", &ids[0], &ids[1], &ids[2], "--json"]);
            assert_eq!(ran.code, 5, "{ran:?}");
            let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(ids_of(&answer), ids);
        },
    },
    Case {
        name: "a_job_that_is_ready_is_waited_for",
        promise: "wait --for ready returns when the line appeared, and the session is told once",
        check: |world| {
            let script = format!(
                "echo starting; {}; echo listening on 80; exec sleep 60",
                wait_for_go(world)
            );
            let options = ["--session", "s", "--ready", "line:^listening on \\d+$"];
            let id = start(world, &options, &script);
            let early = world.outlive(&["wait", &id, "--for", "ready", "--timeout", "200ms"]);
            assert_eq!(early.code, 124, "{early:?}");
            assert_eq!(world.show(&id)["ready"], false);
            let_go(world);
            let ran = world.outlive(&["wait", &id, "--for", "ready", "--timeout", "30s"]);
            assert_eq!(ran.code, 0, "{ran:?}");
            assert_eq!(world.show(&id)["ready"], true);
            assert_eq!(kinds(&delivered(world, "s")), ["ready"]);
            assert_eq!(delivered(world, "s"), [Value::Null; 0]);
        },
    },
    Case {
        name: "a_watched_line_is_told_while_the_job_runs",
        promise: "a line that was watched for is told once, with its text and its place",
        check: |world| {
            let script = "echo before; echo found it; exec sleep 60";
            let id = start(world, &["--session", "s", "--watch", "found"], script);
            let ran = world.outlive(&["wait", &id, "--for", "match", "--timeout", "30s"]);
            assert_eq!(ran.code, 0, "{ran:?}");
            let events = delivered(world, "s");
            assert_eq!(kinds(&events), ["matched"]);
            assert_eq!(events[0]["job"], *id);
            assert_eq!(events[0]["data"]["line"], "found it");
            assert_eq!(events[0]["data"]["offset"], 7);
            assert_eq!(delivered(world, "s"), [Value::Null; 0]);
        },
    },
    Case {
        name: "a_job_that_falls_silent_is_told",
        promise: "--quiet-after tells once that the job has written nothing for that long",
        check: |world| {
            let options = ["--session", "s", "--quiet-after", "300ms"];
            let id = start(world, &options, "echo up; exec sleep 60");
            let ran = world.outlive(&["wait", &id, "--for", "quiet", "--timeout", "30s"]);
            assert_eq!(ran.code, 0, "{ran:?}");
            assert_eq!(kinds(&delivered(world, "s")), ["quiet"]);
        },
    },
    Case {
        name: "a_failed_start_is_not_waited_for",
        promise: "wait --for ready never succeeds for a job that ended before it was ready",
        check: |world| {
            let (id, _) = run(world, &["--ready", "line:^never$"], "exit 0");
            let ran = world.outlive(&["wait", &id, "--for", "ready", "--timeout", "30s"]);
            assert!(![0, 124].contains(&ran.code), "{ran:?}");
        },
    },
];
