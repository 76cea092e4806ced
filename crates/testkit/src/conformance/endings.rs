//! How a job ended: exit codes, signals, commands that could not be started.

use super::Case;
use super::steps::{assert_ended, assert_output, end_of, let_go, run, start, wait_for_go};
use crate::checks::{exited, signaled};
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "an_exit_code_is_the_one_the_command_exited_with",
        promise: "every exit code is recorded exactly, and wait exits with it",
        check: exit_codes,
    },
    Case {
        name: "a_signal_is_not_an_exit_code",
        promise: "a job that a signal ended names the signal, and wait exits with 128 and its number",
        check: |world| {
            for (word, number) in [("HUP", 1), ("KILL", 9), ("USR1", 10), ("TERM", 15)] {
                let (id, job) = run(world, &[], &format!("kill -{word} $$"));
                let signal = signaled(&format!("SIG{word}"));
                assert_ended(&job, &signal, 128 + number, "signal");
                assert_eq!(world.outlive(&["wait", &id]).code, 128 + number);
            }
            // The same number as an exit code is still an exit code.
            let (_, job) = run(world, &[], "exit 143");
            assert_ended(&job, &exited(143), 143, "itself");
        },
    },
    Case {
        name: "a_command_that_does_not_exist_is_reported_at_once",
        promise: "run exits with 127 and says why; the job was not started",
        check: |world| {
            not_started(world, "no-such-command", 127, "not_found");
        },
    },
    Case {
        name: "a_file_that_is_not_executable_is_reported_at_once",
        promise: "run exits with 126 and says why; the job was not started",
        check: |world| {
            let file = world.path_there("plain-file");
            world.place().write(&file, b"").unwrap();
            not_started(world, file.to_str().unwrap(), 126, "not_executable");
        },
    },
    Case {
        name: "run_wait_prints_the_output_and_exits_as_the_job",
        promise: "run --wait is the command in the foreground",
        check: |world| {
            let script = "printf 'one\\ntwo\\nthree'; exit 9";
            let ran = world.outlive(&["run", "--wait", "--shell", script]);
            assert_eq!((ran.code, ran.stdout.as_str()), (9, "one\ntwo\nthree"));
        },
    },
    Case {
        name: "run_wait_with_a_limit_leaves_the_job_running",
        promise: "run --wait=DUR exits with 124 after that time, and the job goes on",
        check: |world| {
            let script = format!("echo up; {}; exit 5", wait_for_go(world));
            let args = ["run", "--id", "job", "--wait=500ms", "--shell", &script];
            assert_eq!(world.outlive(&args).code, 124);
            assert_eq!(world.show("job")["state"], "running");
            let_go(world);
            assert_eq!(world.outlive(&["wait", "job"]).code, 5);
            assert_output(world, "job", b"up\n");
        },
    },
    Case {
        name: "an_end_is_recorded_once_with_its_times",
        promise: "a job has one end, after its start, and the times agree with its duration",
        check: |world| {
            let (id, job) = run(world, &[], "sleep 0.3");
            assert_eq!(world.events(&id, "ended").len(), 1);
            let lasted = job["duration_ms"].as_u64().unwrap();
            assert!((300..30_000).contains(&lasted), "{job}");
            let time = |key: &str| job[key].as_str().unwrap().to_owned();
            assert!(time("started_at") < time("ended_at"), "{job}");
            assert!(job["pid"].is_i64(), "{job}");
        },
    },
    Case {
        name: "what_runs_is_said_to_run",
        promise: "a job is running until its command has ended, and has no outcome before",
        check: |world| {
            let id = start(world, &[], &wait_for_go(world));
            let waiter = world.begin(&["wait", &id]);
            let job = world.show(&id);
            assert_eq!(job["state"], "running", "{job}");
            for key in ["outcome", "exit_code", "ended_by", "ended_at"] {
                assert_eq!(job[key], serde_json::Value::Null, "{key}: {job}");
            }
            assert!(world.place().process(world.leader(&id)).is_some());
            let_go(world);
            assert_eq!(end_of(waiter).code, 0);
            assert_eq!(world.show(&id)["state"], "ended");
        },
    },
];

fn exit_codes(world: &World) {
    for code in [0, 1, 2, 42, 124, 125, 126, 127, 128, 255] {
        let (id, job) = run(world, &[], &format!("exit {code}"));
        assert_ended(&job, &exited(code), code, "itself");
        assert_eq!(world.outlive(&["wait", &id]).code, code);
    }
}

#[track_caller]
fn not_started(world: &World, command: &str, code: i32, cause: &str) {
    let ran = world.outlive(&["run", "--id", "job", "--", command]);
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(ran.stderr.contains(command), "{ran:?}");
    let job = world.show("job");
    assert_eq!(job["state"], "ended", "{job}");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_eq!(job["outcome"]["cause"], cause, "{job}");
    assert_eq!(job["exit_code"], code, "{job}");
}
