//! What is written to the log of `detach`, and which logs are refused.

use super::{append, detach, detach_in_two_parts, read, until_closed};
use outlive_testkit::checks::exited;
use outlive_testkit::processes::{CONT, is_alive, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};

#[test]
fn detach_prints_the_pid_and_the_log_and_returns() {
    let world = World::new();
    let log = world.path("log");
    let pid = detach(&world, "d", &log, "echo hello; sleep 60");
    assert_eq!(world.show("d")["pid"], pid);
    assert!(is_alive(pid));
    assert_eq!(world.show("d")["state"], "running");
    until("the log has it while it runs", || read(&log) == "hello\n");
}

#[test]
fn detach_creates_the_directory_and_prints_the_full_path() {
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
fn detach_appends_to_the_log_and_records_the_end() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before, without an end").unwrap();
    detach(&world, "one", &log, "echo out; echo err >&2; exit 3");
    let job = world.wait("one");
    assert_eq!(job["outcome"], exited(3));
    assert_eq!(world.output("one"), b"out\nerr\n");
    assert_eq!(read(&log), "before, without an endout\nerr\n");
    until_closed(&world, "one");

    detach(&world, "two", &log, "printf 'no newline'; kill -KILL $$");
    assert_eq!(world.wait("two")["outcome"]["signal"], "SIGKILL");
    assert_eq!(read(&log), "before, without an endout\nerr\nno newline");
}

#[test]
fn output_of_lingering_processes_reaches_the_log() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    let script = format!("({}; echo late) & echo early; exit 4", loop_until(&go));
    detach(&world, "d", &log, &script);
    assert_eq!(world.wait("d")["exit_code"], 4);
    // The subshell, and a `sleep` if there is one at this moment.
    let lingering = world.show("d")["lingering"].as_u64().unwrap();
    assert!((1..=2).contains(&lingering), "{lingering}");
    assert_eq!(read(&log), "early\n");
    File::create(go).unwrap();
    until_closed(&world, "d");
    assert_eq!(read(&log), "early\nlate\n");
}

#[test]
fn text_that_others_append_to_the_log_is_kept() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    detach_in_two_parts(&world, "d", &log, &go, "echo second");
    append(&log, "somebody else\n");
    File::create(go).unwrap();
    assert_eq!(world.wait("d")["exit_code"], 0);
    assert_eq!(read(&log), "first\nsomebody else\nsecond\n");
    assert_eq!(world.output("d"), b"first\nsecond\n");
}

#[test]
fn a_log_that_is_truncated_does_not_block_the_job() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    detach_in_two_parts(&world, "d", &log, &go, "echo second; exit 2");
    fs::remove_file(&log).unwrap();
    File::create(go).unwrap();
    assert_eq!(world.wait("d")["exit_code"], 2);
    assert_eq!(world.output("d"), b"first\nsecond\n");
}

#[test]
fn a_program_that_cannot_start_is_reported() {
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
    detach_in_two_parts(&world, "first", &log, &go, "exit 5");
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
    until_stopped(launcher.id() as i32);
    launcher
}

#[test]
fn of_two_jobs_that_race_for_a_log_the_loser_is_told() {
    let world = World::new();
    let log = world.path("log");
    let slow = stopped_launcher(&world, "slow", &log, "DirectoryMade");
    detach(&world, "fast", &log, "echo fast; sleep 60");
    until("the fast one writes", || read(&log) == "fast\n");
    kill(slow.id() as i32, CONT);
    let slow = Ran::end_of(slow);
    if slow.code == 0 {
        world.wait("slow");
        assert_eq!(read(&log), "fast\nslow\n");
    } else {
        assert!(slow.stderr.contains("another job"), "{slow:?}");
        assert_eq!(read(&log), "fast\n");
    }
}

#[test]
fn dev_null_can_be_the_log_of_many_jobs() {
    let world = World::new();
    let null = Path::new("/dev/null");
    detach(&world, "one", null, "echo one; sleep 60");
    detach(&world, "two", null, "echo two; exit 3");
    assert_eq!(world.wait("two")["exit_code"], 3);
    assert_eq!(world.output("two"), b"two\n");
}
