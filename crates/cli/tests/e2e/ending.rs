//! The end: recorded once, exactly, whatever races.

use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CODES: [i32; 16] = [
    0, 1, 2, 3, 42, 100, 124, 125, 126, 127, 128, 130, 137, 143, 254, 255,
];

// What an end tells.

#[test]
fn an_end_tells_outcome_cause_duration_and_output_and_the_journal_says_the_same() {
    let world = World::new();
    let id = world.shell("printf 12345; sleep 0.3; exit 3");
    world.wait(&id);
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 3 }));
    assert_eq!(job["exit_code"], 3);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(job["pid"], Value::Null);
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
    // A start is noticed a moment after it has happened, on a busy machine a longer one.
    assert!((200..10_000).contains(&duration), "{duration} ms");
    let (started, ended) = (moment(&job["started_at"]), moment(&job["ended_at"]));
    assert!(started < ended, "{started} {ended}");
    let at = |kind| event_at(&world, &id, kind)["boot_ms"].as_u64().unwrap();
    assert_eq!(duration, at("ended") - at("started"));
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
fn every_exit_code_is_an_exit_whatever_number_it_is() {
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
        assert_eq!(job["outcome"], json!({ "kind": "exited", "code": code }));
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
        until("the job is up", || world.output(&id) == b"up\n");
        kill(leader(&world, &id), number);
        assert_eq!(
            world.outlive(&["wait", &id, "--timeout", "30s"]).code,
            128 + number
        );
        let job = world.show(&id);
        assert_eq!(
            job["outcome"],
            json!({ "kind": "signaled", "signal": name, "core_dumped": false })
        );
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
    assert_eq!(
        job["outcome"],
        json!({ "kind": "signaled", "signal": "SIGKILL", "core_dumped": false })
    );
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
fn what_fills_the_pipe_in_the_last_moment_is_kept() {
    let world = World::new();
    // One write as large as the pipe, then the end: nothing may be left in it.
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
    until("the keepers are gone", || world.processes().is_empty());
    assert!(!linked(&world, &id));
    assert!(!is_there(&world.job_dir(&id).join("feed")));
    assert!(!is_there(&world.job_dir(&id).join("control")));
}

// On the disk before anyone is told.

#[test]
fn nobody_is_told_before_the_end_is_in_the_journal() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:OutputSynced=stop", &gate.then("echo x; exit 6"));
    let mut waiter = waiting(&world, &id);
    gate.open();
    let keeper = until_keeper_stops(&world, &id);
    assert_eq!(world.events(&id, "ended").len(), 0);
    assert_eq!(world.output(&id), b"x\n");
    assert_eq!(world.show(&id)["state"], "running");
    // A second one waits in vain too, and says so.
    assert_eq!(
        world.outlive(&["wait", &id, "--timeout", "200ms"]).code,
        124
    );
    assert_eq!(waiter.try_wait().unwrap(), None);
    kill(keeper, 18);
    assert_eq!(waiter.wait().unwrap().code(), Some(6));
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn the_end_is_in_the_journal_while_the_keeper_has_told_nobody_yet() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:EndedRecorded=stop", &gate.then("exit 6"));
    let mut waiter = waiting(&world, &id);
    gate.open();
    let keeper = until_keeper_stops(&world, &id);
    assert_eq!(only_end(&world, &id)["outcome"]["code"], 6);
    assert_eq!(waiter.try_wait().unwrap(), None);
    // Whoever asks now reads it there, keeper or not.
    assert_eq!(world.wait(&id)["exit_code"], 6);
    kill(keeper, 18);
    assert_eq!(waiter.wait().unwrap().code(), Some(6));
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn output_and_journal_are_synced_before_the_waiter_is_told() {
    let world = World::new();
    let calls = traced_end(&world);
    let at = |what: &str, found: &dyn Fn(&str) -> bool| {
        let places: Vec<usize> = (0..calls.len()).filter(|n| found(&calls[*n])).collect();
        *places
            .first()
            .unwrap_or_else(|| panic!("no {what} in {calls:#?}"))
    };
    let ended = at("end", &|call| {
        call.contains("write(") && call.contains("\\\"ended\\\":")
    });
    let output = at("output sync", &|call| {
        call.contains("sync(") && call.contains("/output>")
    });
    let journal = at("journal sync", &|call| {
        call.contains("sync(") && call.contains("/journal>")
    });
    let told = last_news(&calls);
    assert!(
        output < ended && ended < journal && journal < told,
        "{calls:#?}"
    );
}

/// What the keeper of a short job that is waited for does, as the kernel sees it.
fn traced_end(world: &World) -> Vec<String> {
    let trace = world.path("trace");
    let outlive = world.command(["run", "--wait", "--shell", "echo x; sleep 0.2"]);
    let ran = Ran::of(&mut under_strace(
        &outlive,
        &[
            "-y",
            "-s",
            "4096",
            "-e",
            "trace=fsync,fdatasync,write,sendto",
        ],
        &trace,
    ));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "x\n"), "{ran:?}");
    let text = || fs::read_to_string(&trace).unwrap();
    until("the keepers are gone", || world.processes().is_empty());
    text().lines().map(str::to_owned).collect()
}

/// Where the keeper answers for the last time, with the newest event.
fn last_news(calls: &[String]) -> usize {
    let told = |call: &String| call.contains("sendto(") && call.contains("\\\"news\\\":");
    // The waiter's own requests look alike; only the answer names what was appended last.
    let newest = r#"\"seq\":6"#;
    calls
        .iter()
        .position(|call| told(call) && call.contains(newest))
        .unwrap_or_else(|| panic!("nobody was told in {calls:#?}"))
}

fn under_strace(command: &Command, options: &[&str], trace: &Path) -> Command {
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-o"])
        .arg(trace)
        .args(options)
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(key, value),
            None => strace.env_remove(key),
        };
    }
    strace
}

// Once, whatever races.

#[test]
fn two_stoppers_while_jobs_exit_leave_one_end_each() {
    let world = World::new();
    let gate = Gate::new(&world);
    let ids: Vec<String> = (0..24)
        .map(|n| world.shell(&gate.then(&format!("sleep 0.0{:02}; exit 7", n * 2))))
        .collect();
    gate.open();
    let stoppers: Vec<Child> = (0..2).map(|_| stopping(&world, &ids, "5s")).collect();
    for mut stopper in stoppers {
        assert_eq!(stopper.wait().unwrap().code(), Some(0));
    }
    for id in &ids {
        assert_one_consistent_end(&world, id);
    }
}

/// Whichever came first, outcome and cause belong together.
fn assert_one_consistent_end(world: &World, id: &str) {
    let end = only_end(world, id);
    let asked = world.events(id, "stop_requested").len();
    let exited = json!({ "kind": "exited", "code": 7 });
    let terminated = json!({ "kind": "signaled", "signal": "SIGTERM", "core_dumped": false });
    match asked {
        0 => assert_eq!(
            (&end["outcome"], &end["ended_by"]),
            (&exited, &json!("itself"))
        ),
        1 => {
            assert_eq!(end["ended_by"], "stop");
            assert!(
                [exited, terminated].contains(&end["outcome"]),
                "{}",
                end["outcome"]
            );
        }
        more => panic!("{more} stops were written down"),
    }
    assert_eq!(world.events(id, "closed").len(), 1);
}

#[test]
fn a_job_that_exits_just_before_the_stop_ended_by_itself() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:LeaderEnded=stop", &gate.then("exit 7"));
    gate.open();
    let keeper = until_keeper_stops(&world, &id);
    let mut stopper = stopping(&world, std::slice::from_ref(&id), "5s");
    kill(keeper, 18);
    assert_eq!(stopper.wait().unwrap().code(), Some(0));
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"], json!({ "kind": "exited", "code": 7 }));
    assert_eq!(end["ended_by"], "itself");
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}

#[test]
fn a_job_that_exits_while_the_stop_is_written_has_one_end() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell_with_hooks("keeper:StopWritten=stop", &gate.then("exit 7"));
    let mut stopper = stopping(&world, std::slice::from_ref(&id), "5s");
    let keeper = until_keeper_stops(&world, &id);
    let leader = leader(&world, &id);
    gate.open();
    until("the leader has ended", || !is_alive(leader));
    kill(keeper, 18);
    assert_eq!(stopper.wait().unwrap().code(), Some(0));
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"], json!({ "kind": "exited", "code": 7 }));
    assert_eq!(end["ended_by"], "stop");
}

#[test]
fn a_timeout_that_passes_while_stopping_changes_nothing() {
    let world = World::new();
    let id = started(&world, &["--timeout", "1s", "--grace", "1500ms"], IGNORES);
    world.ok(&["stop", &id]);
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"]["signal"], "SIGKILL");
    assert_eq!(end["ended_by"], "stop");
    let asked = world.events(&id, "stop_requested");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["by"], "stop");
    assert!(end["duration_ms"].as_u64().unwrap() > 1000, "{end}");
}

#[test]
fn a_stop_while_timing_out_changes_nothing() {
    let world = World::new();
    let id = started(&world, &["--timeout", "500ms", "--grace", "1s"], IGNORES);
    until("the time is up", || {
        world.events(&id, "stop_requested").len() == 1
    });
    world.ok(&["stop", &id]);
    let end = only_end(&world, &id);
    assert_eq!(end["outcome"]["signal"], "SIGKILL");
    assert_eq!(end["ended_by"], "timeout");
    let asked = world.events(&id, "stop_requested");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["by"], "timeout");
}

#[test]
fn stops_and_timeouts_at_the_same_moment_leave_one_end_each() {
    let world = World::new();
    let ids: Vec<String> = (0..12)
        .map(|_| world.ok(&["run", "--timeout", "1s", "--", "sleep", "60"]))
        .collect();
    until("the first one's time is up", || {
        world.events(&ids[0], "stop_requested").len() == 1
    });
    let stoppers: Vec<Child> = (0..2).map(|_| stopping(&world, &ids, "5s")).collect();
    for mut stopper in stoppers {
        assert_eq!(stopper.wait().unwrap().code(), Some(0));
    }
    for id in &ids {
        let end = only_end(&world, id);
        let asked = world.events(id, "stop_requested");
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(end["ended_by"], asked[0]["by"]);
        assert_eq!(end["outcome"]["signal"], "SIGTERM");
    }
}

#[test]
fn two_stoppers_at_once_are_both_served_by_one_stop() {
    let world = World::new();
    let id = started(&world, &["--grace", "500ms"], IGNORES);
    let ids = [id.clone()];
    let stoppers: Vec<Child> = (0..2).map(|_| stopping(&world, &ids, "500ms")).collect();
    for mut stopper in stoppers {
        assert_eq!(stopper.wait().unwrap().code(), Some(0));
    }
    assert_eq!(world.events(&id, "stop_requested").len(), 1);
    assert_eq!(only_end(&world, &id)["outcome"]["signal"], "SIGKILL");
}

// What outlives the leader.

/// Leaves a process behind that writes, waits for `go`, writes again and stays.
fn leaves_one_behind(world: &World) -> String {
    format!(
        "setsid sh -c 'echo early; until [ -e {go} ]; do sleep 0.02; done; echo late; exec sleep 60' & exit 0",
        go = world.path("go").display()
    )
}

#[test]
fn a_process_that_keeps_the_output_open_does_not_delay_the_end() {
    let world = World::new();
    let id = world.shell(&leaves_one_behind(&world));
    let job = world.wait(&id);
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 0 }));
    assert_eq!(job["ended_by"], "itself");
    let shown = world.show(&id);
    assert_eq!(shown["state"], "ended");
    assert!(shown["lingering"].as_u64().unwrap() >= 1, "{shown}");
    assert!(only_end(&world, &id)["lingering"].as_u64().unwrap() >= 1);
    assert!(linked(&world, &id), "what lingers is still looked after");
}

#[test]
fn what_a_lingering_process_writes_is_still_kept() {
    let world = World::new();
    let id = world.shell(&leaves_one_behind(&world));
    world.wait(&id);
    until("it wrote", || world.output(&id) == b"early\n");
    fs::write(world.path("go"), "").unwrap();
    until("it wrote again", || world.output(&id) == b"early\nlate\n");
    assert_eq!(world.show(&id)["output"]["bytes"], 11);
    assert_eq!(world.ok(&["log", &id]), "early\nlate");
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn stop_ends_what_lingers_and_the_end_stays_as_it_was() {
    let world = World::new();
    let id = world.shell(&leaves_one_behind(&world));
    let before = world.wait(&id);
    until("it wrote", || world.output(&id) == b"early\n");
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("left behind"), "{ran:?}");
    let after = world.show(&id);
    assert_eq!(after["lingering"], 0);
    for key in ["outcome", "ended_by", "ended_at", "duration_ms", "usage"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
    assert_eq!(world.events(&id, "closed").len(), 1);
    until("nothing is left", || world.processes().is_empty());
    assert!(!linked(&world, &id));
}

#[test]
fn a_lingering_process_that_ends_by_itself_closes_the_job() {
    let world = World::new();
    let gate = Gate::new(&world);
    let id = world.shell(&format!(
        "(setsid sh -c '{}' &); exit 2",
        gate.then("echo bye")
    ));
    assert_eq!(world.wait(&id)["exit_code"], 2);
    assert_eq!(world.show(&id)["lingering"], 1);
    gate.open();
    until("the job is closed", || {
        world.events(&id, "closed").len() == 1
    });
    let job = world.show(&id);
    assert_eq!(job["lingering"], 0);
    assert_eq!(job["exit_code"], 2);
    assert_eq!(job["output"]["bytes"], 4);
    assert_eq!(world.output(&id), b"bye\n");
    until("nothing is left", || world.processes().is_empty());
}

#[test]
fn leftovers_stop_ends_what_the_leader_leaves_behind() {
    let world = World::new();
    let pid = world.path("pid");
    let script = format!(
        "setsid bash -c 'trap \"echo asked; exit\" TERM; echo $$ > {pid}; while :; do sleep 0.05; done' & until [ -s {pid} ]; do sleep 0.01; done; exit 9",
        pid = pid.display()
    );
    let id = world.ok(&[
        "run",
        "--leftovers",
        "stop",
        "--grace",
        "20s",
        "--shell",
        &script,
    ]);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 9 }));
    assert_eq!(job["ended_by"], "itself");
    until("nothing is left", || world.processes().is_empty());
    assert!(!is_alive(read_pid(&pid)));
    // The shell may also say what became of its `sleep`.
    assert!(world.output(&id).ends_with(b"asked\n"));
    assert_eq!(world.show(&id)["lingering"], 0);
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}

#[test]
fn leftovers_stop_kills_what_does_not_listen_after_the_grace() {
    let world = World::new();
    let pid = world.path("pid");
    let script = format!(
        "setsid sh -c 'trap \"\" TERM; echo $$ > {pid}; exec sleep 60' & until [ -s {pid} ]; do sleep 0.01; done; exit 0",
        pid = pid.display()
    );
    let id = world.ok(&[
        "run",
        "--leftovers",
        "stop",
        "--grace",
        "200ms",
        "--shell",
        &script,
    ]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    until("nothing is left", || world.processes().is_empty());
    assert!(!is_alive(read_pid(&pid)));
    assert_eq!(world.show(&id)["lingering"], 0);
}

#[test]
fn leftovers_are_kept_unless_asked_otherwise() {
    let world = World::new();
    let pid = world.path("pid");
    let script = format!(
        "setsid sh -c 'echo $$ > {pid}; exec sleep 60' & until [ -s {pid} ]; do sleep 0.01; done; exit 0",
        pid = pid.display()
    );
    let id = world.ok(&[
        "run",
        "--leftovers",
        "keep",
        "--grace",
        "0",
        "--shell",
        &script,
    ]);
    world.wait(&id);
    assert_eq!(world.show(&id)["lingering"], 1);
    assert!(is_alive(read_pid(&pid)));
}

// Looking at it.

const IGNORES: &str = "trap '' TERM; echo up; exec sleep 60";

/// Starts a job with these options that says `up` once it is as it should be.
fn started(world: &World, options: &[&str], script: &str) -> String {
    let args = [&["run"], options, &["--shell", script]].concat();
    let id = world.ok(&args);
    until("the job is up", || world.output(&id).starts_with(b"up\n"));
    id
}

/// A place where jobs wait until the test lets all of them go on.
struct Gate {
    path: PathBuf,
    held: File,
}

impl Gate {
    fn new(world: &World) -> Gate {
        let path = world.path("gate");
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let held = File::options().read(true).write(true).open(&path).unwrap();
        Gate { path, held }
    }

    /// The script, once the gate is open.
    fn then(&self, script: &str) -> String {
        format!("read -r line < {}; {script}", self.path.display())
    }

    fn open(&self) {
        (&self.held)
            .write_all("go\n".repeat(64).as_bytes())
            .unwrap();
    }
}

fn waiting(world: &World, id: &str) -> Child {
    let child = world
        .command(["wait", id])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the waiter sleeps", || is_asleep_in_poll(child.id() as i32));
    child
}

fn is_asleep_in_poll(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/wchan")).is_ok_and(|name| name.contains("poll"))
}

fn stopping(world: &World, ids: &[String], grace: &str) -> Child {
    world
        .command(["stop", "--grace", grace])
        .args(ids)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The one end in the journal.
fn only_end(world: &World, id: &str) -> Value {
    let mut ends = world.events(id, "ended");
    assert_eq!(ends.len(), 1, "{ends:?}");
    ends.remove(0)
}

fn event_at(world: &World, id: &str, kind: &str) -> Value {
    let journal = world.journal(id);
    let record = journal
        .iter()
        .find(|record| record["event"] == kind || record["event"].get(kind).is_some());
    record.unwrap()["at"].clone()
}

fn moment(value: &Value) -> String {
    let text = value.as_str().unwrap().to_owned();
    assert_eq!(text.len(), "2026-11-15T08:00:00.123Z".len(), "{text}");
    assert!(text.ends_with('Z'), "{text}");
    text
}

fn leader(world: &World, id: &str) -> i32 {
    world.show(id)["pid"].as_i64().unwrap() as i32
}

fn until_keeper_stops(world: &World, id: &str) -> i32 {
    let keeper = world.pair(id).keeper;
    until("the keeper is at the hook", || {
        procfs::stat(keeper).is_some_and(|stat| stat.state == b'T')
    });
    keeper
}

fn linked(world: &World, id: &str) -> bool {
    is_there(&world.home().join("live").join(id))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn read_pid(path: &Path) -> i32 {
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}
