//! What the record of an end contains.

use super::{is_there, linked, only_end};
use outlive_testkit::checks::{exited, signaled, until_output};
use outlive_testkit::processes::{CONT, kill, state_of};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

const CODES: [i32; 16] = [
    0, 1, 2, 3, 42, 100, 124, 125, 126, 127, 128, 130, 137, 143, 254, 255,
];

#[test]
fn the_end_has_outcome_cause_duration_and_output_as_in_the_journal() {
    let world = World::new();
    let id = world.shell("printf 12345; sleep 0.3; exit 3");
    world.wait(&id);
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"], exited(3));
    assert_eq!(job["exit_code"], 3);
    assert_eq!(job["ended_by"], "itself");
    assert!(job["pid"].is_i64(), "{job}");
    assert_eq!(job["output"]["bytes"], 5);
    assert_eq!(job["output"]["dropped_bytes"], 0);
    assert_eq!(job["lingering"], 0);

    let end = only_end(&world, &id);
    for key in ["outcome", "ended_by", "duration_ms", "usage"] {
        assert_eq!(end[key], job[key], "{key}");
    }
    assert_eq!(end["output_bytes"], 5);
    assert_eq!(end["dropped_bytes"], 0);
}

#[test]
fn the_duration_is_from_start_to_end() {
    let world = World::new();
    let id = world.shell("sleep 0.4");
    world.wait(&id);
    let job = world.show(&id);
    let duration = job["duration_ms"].as_u64().unwrap();
    assert!((400..10_000).contains(&duration), "{duration} ms");
    let (started, ended) = (moment(&job["started_at"]), moment(&job["ended_at"]));
    assert!(started < ended, "{started} {ended}");
    let at = |kind| world.boot_ms(&id, kind);
    assert_eq!(duration, at("ended") - at("started"));
}

/// A busy machine may run the keeper long after the job has started.
#[test]
fn a_keeper_that_learns_late_of_the_start_does_not_shorten_the_duration() {
    let world = World::new();
    let args = ["run", "--id", "job", "--", "sleep", "0.4"];
    let mut launcher = world
        .command(args)
        .env("OUTLIVE_HOOKS", "keeper:Executed=stop")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the leader is known", || {
        world.job_dir("job").join("journal").exists() && world.events("job", "spawned").len() == 1
    });
    let keeper = world.until_keeper_stops("job");
    let leader = world.leader("job");
    until("the leader has ended", || state_of(leader) == Some(b'Z'));
    kill(keeper, CONT);
    assert_eq!(world.wait("job")["outcome"], exited(0));
    assert!(launcher.wait().unwrap().success());
    let duration = world.show("job")["duration_ms"].as_u64().unwrap();
    assert!(duration >= 400, "{duration} ms");
}

#[test]
fn the_usage_counts_the_processor_time_and_the_peak_memory_of_the_job() {
    let world = World::new();
    let id = world.shell(
        "x=$(head -c 30000000 /dev/zero | tr '\\0' a); i=0; while ((i < 150000)); do ((i++)); done; echo ${#x}",
    );
    world.wait(&id);
    let job = world.show(&id);
    assert_eq!(world.output(&id), b"30000000\n");
    let used = |key: &str| job["usage"][key].as_u64().unwrap();
    let processor = used("user_ms") + used("system_ms");
    let duration = job["duration_ms"].as_u64().unwrap();
    assert!(processor >= 50, "{processor} ms of CPU");
    assert!(
        processor <= duration * 64 + 100,
        "{processor} of {duration} ms"
    );
    let memory = used("max_rss_bytes");
    assert!(
        (30_000_000..2_000_000_000).contains(&memory),
        "{memory} bytes"
    );
}

#[test]
fn every_exit_code_is_recorded_as_an_exit() {
    let world = World::new();
    let ids: Vec<String> = CODES
        .iter()
        .map(|code| world.shell(&format!("exit {code}")))
        .collect();
    for (id, code) in ids.iter().zip(CODES) {
        assert_eq!(
            world.outlive(&["wait", id, "--timeout", "30s"]).code,
            code,
            "wait"
        );
        let job = world.show(id);
        assert_eq!(job["outcome"], exited(code));
        assert_eq!(job["exit_code"], code);
        assert_eq!(job["ended_by"], "itself");
    }
}

#[test]
fn a_signal_from_outside_is_no_exit_code() {
    let world = World::new();
    for (number, name) in [
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (15, "SIGTERM"),
        (1, "SIGHUP"),
    ] {
        let id = world.shell("ulimit -c 0; echo up; exec sleep 60");
        until_output(&world, &id, "up\n");
        kill(world.leader(&id), number);
        assert_eq!(
            world.outlive(&["wait", &id, "--timeout", "30s"]).code,
            128 + number
        );
        let job = world.show(&id);
        assert_eq!(job["outcome"], signaled(name));
        assert_eq!(job["exit_code"], 128 + number);
        assert_eq!(job["ended_by"], "signal");
        assert_eq!(job.get("ended_by_detail"), None);
    }
}

#[test]
fn a_signal_that_the_job_sends_itself_is_no_exit_code_either() {
    let world = World::new();
    let id = world.shell("kill -KILL $$");
    let job = world.wait(&id);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(job["ended_by"], "signal");
}

#[test]
fn a_job_ended_by_the_signal_verb_was_not_stopped() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    world.ok(&["signal", &id, "TERM"]);
    let job = world.wait(&id);
    assert_eq!(job["outcome"]["signal"], "SIGTERM");
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "signal");
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}

#[test]
fn twenty_megabytes_written_just_before_the_exit_are_all_there() {
    let world = World::new();
    let copy = world.path("copy");
    let script = format!(
        "head -c 20000000 /dev/urandom | tee '{}'; exit 4",
        copy.display()
    );
    let id = world.shell(&script);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 4);
    assert_eq!(job["output"]["bytes"], 20_000_000);
    assert_eq!(job["output"]["dropped_bytes"], 0);
    assert_eq!(only_end(&world, &id)["output_bytes"], 20_000_000);
    assert!(fs::read(copy).unwrap() == world.output(&id), "bytes differ");
}

#[test]
fn output_left_in_the_pipe_at_the_exit_is_kept() {
    let world = World::new();
    // The job fills the pipe with one write and ends. The keeper must read all of it.
    let ids: Vec<String> = (0..20)
        .map(|_| world.shell("head -c 65536 /dev/zero"))
        .collect();
    for id in &ids {
        assert_eq!(world.wait(id)["output"]["bytes"], 65_536);
        assert_eq!(world.output(id).len(), 65_536);
    }
}

#[test]
fn an_ended_job_leaves_no_process_and_no_live_link() {
    let world = World::new();
    let id = world.shell("exit 0");
    world.wait(&id);
    world.until_nothing_runs();
    assert!(!linked(&world, &id));
    assert!(!is_there(&world.job_dir(&id).join("feed")));
    assert!(!is_there(&world.job_dir(&id).join("control")));
}

fn moment(value: &Value) -> String {
    let text = value.as_str().unwrap().to_owned();
    assert_eq!(text.len(), "2026-11-15T08:00:00.123Z".len(), "{text}");
    assert!(text.ends_with('Z'), "{text}");
    text
}
