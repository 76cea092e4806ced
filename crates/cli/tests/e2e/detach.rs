//! `detach`: a job whose output also appends to a file.

use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

fn read(path: &Path) -> String {
    String::from_utf8(fs::read(path).unwrap()).unwrap()
}

fn append(path: &Path, content: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(content.as_bytes()).unwrap();
}

/// Detaches a shell string, which must succeed; returns the pid it printed.
fn detach(world: &World, id: &str, log: &Path, script: &str) -> i32 {
    let log = log.to_str().unwrap();
    let ran = world.outlive(&["detach", "--id", id, log, "--", "bash", "-c", script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let printed = ran.stdout.trim_end_matches('\n').to_owned();
    let (pid, path) = printed
        .strip_prefix("PID ")
        .and_then(|rest| rest.split_once(" LOG "))
        .unwrap_or_else(|| panic!("{printed:?}"));
    assert_eq!(path, log);
    pid.parse().unwrap()
}

fn loop_until(path: &Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.01; done", path.display())
}

/// The job is over: nothing more can come, and the keepers have let go of the log.
fn until_closed(world: &World, id: &str) {
    until("nothing of it is left", || {
        world.events(id, "closed").len() == 1 && !world.home().join("live").join(id).exists()
    });
}

#[test]
fn it_prints_the_pid_and_the_log_and_returns() {
    let world = World::new();
    let log = world.path("log");
    let pid = detach(&world, "d", &log, "echo hello; sleep 60");
    assert_eq!(world.show("d")["pid"], pid);
    assert!(is_alive(pid));
    assert_eq!(world.show("d")["state"], "running");
    until("the log has it while it runs", || read(&log) == "hello\n");
}

#[test]
fn it_makes_the_directory_and_names_the_log_in_full() {
    let world = World::new();
    let here = fs::canonicalize(world.path(".")).unwrap();
    let ran = Ran::of(
        world
            .command(["detach", "a/b/c.log", "--", "echo", "hello"])
            .current_dir(&here),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let log = here.join("a/b/c.log");
    let end = format!(" LOG {}\n", log.display());
    assert!(ran.stdout.ends_with(&end), "{ran:?}");
    until("the log has it", || read(&log) == "hello\n");
}

#[test]
fn it_appends_and_records_the_end_as_for_any_job() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before, without an end").unwrap();
    detach(&world, "one", &log, "echo out; echo err >&2; exit 3");
    let job = world.wait("one");
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 3 }));
    assert_eq!(world.output("one"), b"out\nerr\n");
    assert_eq!(read(&log), "before, without an endout\nerr\n");
    until_closed(&world, "one");

    detach(&world, "two", &log, "printf 'no newline'; kill -KILL $$");
    assert_eq!(world.wait("two")["outcome"]["signal"], "SIGKILL");
    assert_eq!(read(&log), "before, without an endout\nerr\nno newline");
}

#[test]
fn what_lingers_still_reaches_the_log() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    let script = format!("({}; echo late) & echo early; exit 4", loop_until(&go));
    detach(&world, "d", &log, &script);
    assert_eq!(world.wait("d")["exit_code"], 4);
    assert_eq!(world.show("d")["lingering"], 2);
    assert_eq!(read(&log), "early\n");
    File::create(go).unwrap();
    until_closed(&world, "d");
    assert_eq!(read(&log), "early\nlate\n");
}

#[test]
fn what_others_append_meanwhile_is_kept_too() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    detach(
        &world,
        "d",
        &log,
        &format!("echo first; {}; echo second", loop_until(&go)),
    );
    until("the first is there", || read(&log) == "first\n");
    append(&log, "somebody else\n");
    File::create(go).unwrap();
    assert_eq!(world.wait("d")["exit_code"], 0);
    assert_eq!(read(&log), "first\nsomebody else\nsecond\n");
    assert_eq!(world.output("d"), b"first\nsecond\n");
}

#[test]
fn a_log_emptied_meanwhile_does_not_hold_up_the_job() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    detach(
        &world,
        "d",
        &log,
        &format!("echo first; {}; echo second; exit 2", loop_until(&go)),
    );
    until("the first is there", || read(&log) == "first\n");
    fs::remove_file(&log).unwrap();
    File::create(go).unwrap();
    assert_eq!(world.wait("d")["exit_code"], 2);
    assert_eq!(world.output("d"), b"first\nsecond\n");
}

#[test]
fn a_program_that_cannot_start_is_said_so() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before\n").unwrap();
    let path = log.to_str().unwrap();
    let ran = world.outlive(&["detach", "--id", "d", path, "--", "/no/such/program"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (127, ""), "{ran:?}");
    assert!(ran.stderr.contains("/no/such/program"));
    assert_eq!(world.show("d")["outcome"]["kind"], "not_started");
    assert_eq!(read(&log), "before\n");
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_and_starts_nothing() {
    let world = World::new();
    fs::write(world.path("plain"), "").unwrap();
    let below_a_file = world.path("plain/log");
    let a_directory = world.path("directory");
    fs::create_dir(&a_directory).unwrap();
    for log in [
        below_a_file.to_str().unwrap(),
        a_directory.to_str().unwrap(),
    ] {
        let ran = world.outlive(&["detach", "--id", "d", log, "--", "true"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
        assert!(ran.stderr.contains(log.trim_end_matches("/log")), "{ran:?}");
        assert_eq!(world.outlive(&["show", "d"]).code, 3);
    }
}

#[test]
fn a_log_that_another_job_writes_is_refused_until_that_is_over() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    let path = log.to_str().unwrap();
    detach(
        &world,
        "first",
        &log,
        &format!("echo first; {}; exit 5", loop_until(&go)),
    );
    until("it writes", || read(&log) == "first\n");
    let ran = world.outlive(&["detach", "--id", "second", path, "--", "echo", "second"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains(path) && ran.stderr.contains("another job"));
    assert_eq!(world.outlive(&["show", "second"]).code, 3);
    assert_eq!(read(&log), "first\n");

    File::create(go).unwrap();
    assert_eq!(world.wait("first")["exit_code"], 5);
    until_closed(&world, "first");
    detach(&world, "second", &log, "echo second");
    world.wait("second");
    assert_eq!(read(&log), "first\nsecond\n");
}

fn stopped_launcher(world: &World, id: &str, log: &Path, hook: &str) -> Child {
    let launcher = world
        .command([
            "detach",
            "--id",
            id,
            log.to_str().unwrap(),
            "--",
            "echo",
            id,
        ])
        .env("OUTLIVE_HOOKS", format!("launcher:{hook}=stop"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("the launcher has stopped", || {
        procfs::stat(launcher.id() as i32).is_some_and(|stat| stat.state == b'T')
    });
    launcher
}

#[test]
fn of_two_that_race_for_a_log_none_is_silently_left_out() {
    let world = World::new();
    let log = world.path("log");
    let slow = stopped_launcher(&world, "slow", &log, "DirectoryMade");
    detach(&world, "fast", &log, "echo fast; sleep 60");
    until("the fast one writes", || read(&log) == "fast\n");
    kill(slow.id() as i32, 18);
    let slow = slow.wait_with_output().unwrap();
    if slow.status.success() {
        world.wait("slow");
        assert_eq!(read(&log), "fast\nslow\n");
    } else {
        let words = String::from_utf8(slow.stderr).unwrap();
        assert!(words.contains("another job"), "{words:?}");
        assert_eq!(read(&log), "fast\n");
    }
}

#[test]
fn nowhere_is_a_log_that_any_number_of_jobs_share() {
    let world = World::new();
    let null = Path::new("/dev/null");
    detach(&world, "one", null, "echo one; sleep 60");
    detach(&world, "two", null, "echo two; exit 3");
    assert_eq!(world.wait("two")["exit_code"], 3);
    assert_eq!(world.output("two"), b"two\n");
}

// Keepers that die meanwhile.

/// Numbered lines, in bursts so that they flow for a while.
const LINES: usize = 60_000;

fn numbered() -> String {
    format!("seq -w 1 {LINES} | while read -r n; do echo \"line $n\"; done; exit 4")
}

fn expected() -> String {
    (1..=LINES).map(|n| format!("line {n:05}\n")).collect()
}

fn assert_complete(world: &World, id: &str, log: &Path, before: &str) {
    let job = world.wait(id);
    assert_eq!(job["exit_code"], 4, "{job}");
    until_closed(world, id);
    let expected = expected();
    assert!(
        world.output(id) == expected.as_bytes(),
        "the output differs"
    );
    let written = read(log);
    assert_eq!(written.len(), before.len() + expected.len());
    assert!(written == format!("{before}{expected}"), "the log differs");
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn until_it_flows(log: &Path, bytes: u64) {
    until("output flows", || fs::metadata(log).unwrap().len() > bytes);
}

#[test]
fn a_keeper_killed_while_output_flows_costs_the_log_nothing() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before\n").unwrap();
    detach(&world, "d", &log, &numbered());
    until_it_flows(&log, 10_000);
    let pair = world.pair("d");
    kill(pair.keeper, 9);
    until("the standby has taken over", || {
        world.pair("d").keeper == pair.standby.unwrap()
    });
    assert_complete(&world, "d", &log, "before\n");
    assert_eq!(world.events("d", "kept").len(), 2);
}

#[test]
fn both_keepers_killed_while_output_flows_cost_the_log_nothing() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before\n").unwrap();
    detach(&world, "d", &log, &numbered());
    for round in 1..4 {
        until_it_flows(&log, round * 20_000);
        let pair = world.pair("d");
        for pid in pair.standby.into_iter().chain([pair.keeper]) {
            kill(pid, 9);
            until("it is gone", || !is_alive(pid));
        }
        assert_eq!(world.show("d")["state"], "running");
    }
    assert_complete(&world, "d", &log, "before\n");
}

#[test]
fn a_keeper_killed_between_the_output_and_the_log_costs_it_nothing() {
    for hook in [
        "Captured",
        "LeaderEnded",
        "Drained",
        "OutputSynced",
        "EndedRecorded",
    ] {
        let world = World::new();
        let log = world.path("log");
        fs::write(&log, "before\n").unwrap();
        let ran = Ran::of(
            world
                .command(["detach", "--id", "d", log.to_str().unwrap(), "--"])
                .args(["bash", "-c", "echo one; echo two; exit 4"])
                .env("OUTLIVE_HOOKS", format!("keeper:{hook}=kill")),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(world.wait("d")["exit_code"], 4, "{hook}");
        until_closed(&world, "d");
        assert_eq!(read(&log), "before\none\ntwo\n", "{hook}");
        assert_eq!(world.output("d"), b"one\ntwo\n");
        assert_eq!(world.events("d", "kept").len(), 2);
    }
}

#[test]
fn others_who_append_while_the_keepers_are_dead_lose_and_cost_nothing() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    let script = format!("echo first; {}; echo second", loop_until(&go));
    detach(&world, "d", &log, &script);
    until("the first is there", || read(&log) == "first\n");
    let pair = world.pair("d");
    for pid in [pair.standby.unwrap(), pair.keeper] {
        kill(pid, 9);
        until("it is gone", || !is_alive(pid));
    }
    append(&log, "somebody else\n");
    // Adopted before it ends: what a job writes last, kept by nobody, is nobody's.
    assert_eq!(world.show("d")["state"], "running");
    File::create(go).unwrap();
    assert_eq!(world.wait("d")["exit_code"], 0);
    until_closed(&world, "d");
    assert_eq!(world.output("d"), b"first\nsecond\n");
    assert_eq!(read(&log), "first\nsomebody else\nsecond\n");
}

#[test]
fn ten_jobs_that_race_for_one_log_leave_whole_outputs_in_it() {
    let world = World::new();
    let log = world.path("log");
    let one = |number: usize| {
        let id = format!("j{number}");
        let words = format!("echo begin {number}; echo end {number}");
        let ran = world.outlive(&[
            "detach",
            "--id",
            &id,
            log.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            &words,
        ]);
        (id, number, ran)
    };
    let all: Vec<(String, usize, Ran)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|n| scope.spawn(move || one(n))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (id, number, ran) in all {
        if ran.code == 0 {
            world.wait(&id);
            let whole = format!("begin {number}\nend {number}\n");
            assert!(read(&log).contains(&whole), "{number}: {:?}", read(&log));
        } else {
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(ran.stderr.contains("another job"), "{ran:?}");
        }
    }
}

// Keeping the machine awake.

/// A `systemd-inhibit` that writes down how it was called and then does as the real one does.
fn fake_inhibit(world: &World, script: &str) -> String {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let path = bin.join("systemd-inhibit");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

fn honest_inhibit(world: &World) -> String {
    let (called, held) = (world.path("called"), world.path("held-by"));
    fake_inhibit(
        world,
        &format!(
            "printf '%s\\n' \"$@\" > {0}.new; mv {0}.new {0}\n\
             while [ $# -gt 1 ]; do shift; done\n\
             echo $$ > {1}.new; mv {1}.new {1}\n\
             exec \"$1\"",
            called.display(),
            held.display()
        ),
    )
}

fn keep_awake(world: &World, path: &str, script: &str) -> Ran {
    let log = world.path("log");
    Ran::of(
        world
            .command(["detach", "--keep-awake", "--id", "d"])
            .args([log.to_str().unwrap(), "--", "bash", "-c", script])
            .env("PATH", path),
    )
}

fn holder(world: &World) -> i32 {
    let held = world.path("held-by");
    until("the machine is kept awake", || held.exists());
    read(&held).trim().parse().unwrap()
}

fn let_go(world: &World, go: &Path, code: i32) -> Value {
    File::create(go).unwrap();
    let job = world.wait("d");
    assert_eq!(
        (&job["exit_code"], &job["lingering"]),
        (&json!(code), &json!(0))
    );
    job
}

#[test]
fn the_machine_is_kept_awake_as_long_as_the_job_runs() {
    let world = World::new();
    let path = honest_inhibit(&world);
    let go = world.path("go");
    let ran = keep_awake(&world, &path, &format!("{}; exit 3", loop_until(&go)));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let holder = holder(&world);
    let called = read(&world.path("called"));
    assert!(called.contains("--what=idle:sleep\n"), "{called}");
    assert!(called.ends_with("\ncat\n"), "{called}");
    assert!(is_alive(holder));
    assert_eq!(world.show("d")["lingering"], 0);
    let_go(&world, &go, 3);
    until("nothing holds off sleep any more", || !is_alive(holder));
    until_closed(&world, "d");
    until("nothing is left running", || world.processes().is_empty());
}

#[test]
fn the_machine_is_kept_awake_though_the_keeper_dies_and_no_longer_than_needed() {
    let world = World::new();
    let path = honest_inhibit(&world);
    let go = world.path("go");
    keep_awake(&world, &path, &format!("{}; exit 3", loop_until(&go)));
    let holder = holder(&world);
    let pair = world.pair("d");
    kill(pair.keeper, 9);
    until("the standby has taken over", || {
        world.pair("d").keeper == pair.standby.unwrap()
    });
    assert!(is_alive(holder));
    assert_eq!(world.show("d")["state"], "running");
    let_go(&world, &go, 3);
    until("nothing holds off sleep any more", || !is_alive(holder));
    until_closed(&world, "d");
    until("nothing is left running", || world.processes().is_empty());
}

#[test]
fn a_stop_ends_what_keeps_awake_after_the_job_and_not_as_part_of_it() {
    let world = World::new();
    let path = honest_inhibit(&world);
    keep_awake(&world, &path, "exec sleep 60");
    let holder = holder(&world);
    world.ok(&["stop", "d"]);
    let job = world.show("d");
    assert_eq!(job["outcome"]["signal"], "SIGTERM");
    assert_eq!(job["lingering"], 0);
    until("nothing holds off sleep any more", || !is_alive(holder));
    until("nothing is left running", || world.processes().is_empty());
}

#[test]
fn a_job_runs_though_the_machine_cannot_be_kept_awake() {
    let world = World::new();
    let path = fake_inhibit(&world, "exit 1");
    let ran = keep_awake(&world, &path, "echo hello; exit 3");
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = world.wait("d");
    assert_eq!(
        (&job["exit_code"], &job["lingering"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(read(&world.path("log")), "hello\n");
    until("nothing is left running", || world.processes().is_empty());
}

#[test]
fn where_nothing_can_keep_it_awake_that_is_said() {
    let world = World::new();
    let bin: PathBuf = world.path("only-bash");
    fs::create_dir(&bin).unwrap();
    symlink("/bin/bash", bin.join("bash")).unwrap();
    let ran = keep_awake(&world, bin.to_str().unwrap(), "exit 3");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("systemd-inhibit"), "{ran:?}");
    assert!(ran.stdout.starts_with("PID "));
    assert_eq!(world.wait("d")["exit_code"], 3);
}
