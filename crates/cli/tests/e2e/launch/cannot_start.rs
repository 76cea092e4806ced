//! Commands that cannot start, and the directory in which a job runs.

use super::{assert_not_started, file, text};
use crate::adoption::leader;
use outlive_testkit::processes::{CONT, begin, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

#[test]
fn a_missing_program_exits_127_and_is_recorded() {
    let world = World::new();
    let ran = world.outlive(&[
        "run",
        "--id",
        "named",
        "--",
        "no-such-program-anywhere",
        "x",
    ]);
    assert_not_started(&world, &ran, "named", 127, "no-such-program-anywhere");
    let ran = world.outlive(&["run", "--id", "path", "--", "/no/such/program"]);
    assert_not_started(&world, &ran, "path", 127, "/no/such/program");
}

#[test]
fn a_missing_program_exits_127_with_wait_and_in_json() {
    let world = World::new();
    let ran = world.outlive(&["run", "--wait", "--id", "w", "--", "/no/such/program"]);
    assert_not_started(&world, &ran, "w", 127, "/no/such/program");
    let ran = world.outlive(&["run", "--json", "--id", "j", "--", "/no/such/program"]);
    assert_eq!(ran.code, 127);
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["outcome"]["kind"], "not_started");
    assert_eq!(job["exit_code"], 127);
}

#[test]
fn a_program_that_is_not_executable_exits_126() {
    let world = World::new();
    let plain = file(&world, "plain", "#!/bin/sh\necho no\n", 0o644);
    let plain = plain.to_str().unwrap();
    let ran = world.outlive(&["run", "--id", "plain", "--", plain]);
    assert_not_started(&world, &ran, "plain", 126, plain);
    let ran = world.outlive(&["run", "--id", "dir", "--", "/tmp"]);
    assert_not_started(&world, &ran, "dir", 126, "/tmp");
}

#[test]
fn a_program_on_the_path_that_is_not_executable_exits_126() {
    let world = World::new();
    fs::create_dir(world.path("bin")).unwrap();
    file(&world, "bin/odd-name", "#!/bin/sh\necho no\n", 0o644);
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    let ran = Ran::of(
        world
            .command(["run", "--id", "odd", "--", "odd-name"])
            .env("PATH", path),
    );
    assert_not_started(&world, &ran, "odd", 126, "odd-name");
}

#[test]
fn a_script_whose_interpreter_is_missing_exits_126() {
    let world = World::new();
    let script = file(&world, "script", "#!/no/such/interpreter\n", 0o755);
    let ran = world.outlive(&["run", "--id", "s", "--", script.to_str().unwrap()]);
    assert_not_started(&world, &ran, "s", 126, "interpreter");
}

#[test]
fn a_script_without_an_interpreter_line_is_run_by_the_shell() {
    let world = World::new();
    let script = file(
        &world,
        "script",
        "printf '%s|' \"$#\" \"$@\"\nexit 5\n",
        0o755,
    );
    let script = script.to_str().unwrap();
    let id = world.ok(&["run", "--", script, "a b", "", "-c", "$x"]);
    assert_eq!(world.wait(&id)["exit_code"], 5);
    assert_eq!(text(world.output(&id)), "4|a b||-c|$x|");

    let path = format!("{}:/usr/bin:/bin", world.path(".").display());
    let mut command = world.command(["run", "--id", "found", "--", "script", "one"]);
    assert_eq!(Ran::of(command.env("PATH", path)).code, 0);
    assert_eq!(world.wait("found")["exit_code"], 5);
    assert_eq!(text(world.output("found")), "1|one|");
}

#[test]
fn a_missing_directory_is_named() {
    let world = World::new();
    let missing = world.path("not-there");
    let missing = missing.to_str().unwrap();
    let ran = world.outlive(&["run", "--id", "gone", "--cwd", missing, "--", "true"]);
    assert_not_started(&world, &ran, "gone", 126, missing);
    let plain = file(&world, "plain", "", 0o644);
    let plain = plain.to_str().unwrap();
    let ran = world.outlive(&["run", "--id", "plain", "--cwd", plain, "--", "true"]);
    assert_not_started(&world, &ran, "plain", 126, plain);
}

#[test]
fn a_job_runs_in_the_directory_of_cwd() {
    let world = World::new();
    fs::create_dir_all(world.path("a/b")).unwrap();
    let here = fs::canonicalize(world.path("a")).unwrap();
    let run = |args: &[&str]| {
        let ran = Ran::of(world.command(args).current_dir(&here));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.trim_end().to_owned()
    };
    let same = run(&["run", "--wait", "--", "pwd", "-P"]);
    assert_eq!(same, here.to_str().unwrap());
    let below = run(&["run", "--wait", "--cwd", "b", "--", "pwd", "-P"]);
    assert_eq!(below, here.join("b").to_str().unwrap());
}

#[test]
fn no_command_at_all_is_wrong_usage_and_makes_nothing() {
    let world = World::new();
    for args in [
        &["run"][..],
        &["run", "--"],
        &["run", "--", ""],
        &["run", "--shell", "  "],
        &["run", "--env", "no-equals", "--", "true"],
        &["run", "--env", "=value", "--", "true"],
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert_ne!(ran.stderr, "");
    }
    assert!(!world.home().join("jobs").exists());
}

/// The gate closes when the command is executed, but also when the process is killed at the gate.
#[test]
fn a_leader_killed_before_it_executes_the_command_was_not_started() {
    for by_heir in [false, true] {
        let world = World::new();
        let mut command = world.command(["run", "--id", "job", "--shell", "echo ran"]);
        command.env("OUTLIVE_HOOKS", "keeper:Spawned=stop");
        let launcher = begin(command);
        until("the leader is written down", || {
            let journal = fs::read_to_string(world.job_dir("job").join("journal"));
            journal.is_ok_and(|text| text.contains("spawned"))
        });
        let keeper = world.until_keeper_stops("job");
        kill_for_good(leader(&world, "job"));
        match by_heir {
            true => kill_for_good(keeper),
            false => kill(keeper, CONT),
        }
        let ran = Ran::end_of(launcher);
        assert_eq!(ran.code, 125, "{ran:?}");
        let job = world.show("job");
        assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
        let reason = "its process was killed before it could execute the command";
        assert_eq!(job["outcome"]["reason"], reason);
        assert!(ran.stderr.contains(reason), "{ran:?}");
        assert_eq!(world.events("job", "started").len(), 0);
        assert_eq!(world.output("job"), b"");
        world.until_nothing_runs();
    }
}
