//! Nothing of the user's environment travels unless it is named, and a secret that is named is in no file, no argument
//! and no log, here or there.

use super::{by_command, over_ssh};
use outlive_sys::{process, tree};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};

const SECRET: &str = "s3cr3t-0xdeadbeef-Zq9";
const UNNAMED: &str = "s3cr3t-not-named-0xcafe";

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    files
}

fn contains(bytes: &[u8], secret: &str) -> bool {
    bytes
        .windows(secret.len())
        .any(|at| at == secret.as_bytes())
}

/// Neither in a file of both sides (homes, logs of couriers and of servers), nor in an argument of any process here.
fn assert_nowhere(world: &World, secret: &str) {
    let files = files_below(&world.path(""));
    assert!(files.len() >= 6, "{files:?}");
    for path in files {
        let bytes = fs::read(&path).unwrap_or_default();
        assert!(!contains(&bytes, secret), "{path:?}");
    }
    for pid in tree::all().unwrap() {
        for word in process::arguments(pid) {
            assert!(!contains(&word, secret), "argument of {pid}");
        }
    }
}

fn secrets_stay_in_memory(world: &World) {
    let go = world.path_there("go");
    // The script does not print the secret: what a job prints is its own affair.
    let script = format!(
        "echo ${{#TOKEN}} ${{#UNNAMED}}; until [ -e '{}' ]; do sleep 0.02; done; exit ${{#TOKEN}}",
        go.display()
    );
    let mut run = world.command(["run", "--id", "job", "--session", "s", "--env", "TOKEN"]);
    run.args(["--shell", &script]);
    let ran = Ran::of(run.env("TOKEN", SECRET).env("UNNAMED", UNNAMED));
    assert_eq!(ran.code, 0, "{ran:?}");
    until("it has started", || {
        world.ok(&["log", "job", "--peek"]) == format!("{} 0", SECRET.len())
    });
    for secret in [SECRET, UNNAMED] {
        assert_nowhere(world, secret);
    }
    // Nor after everything between here and there was made anew.
    world.kill_couriers();
    world.kill_keeper("job");
    world.place().write(&go, b"").unwrap();
    assert_eq!(world.outlive(&["wait", "job"]).code as usize, SECRET.len());
    world.ok(&["inbox", "--session", "s"]);
    for secret in [SECRET, UNNAMED] {
        assert_nowhere(world, secret);
    }
}

#[test]
fn a_named_secret_is_in_no_file_and_no_argument_by_command() {
    secrets_stay_in_memory(&by_command());
}

#[test]
fn a_named_secret_is_in_no_file_and_no_argument_over_ssh() {
    needs!(Ssh);
    secrets_stay_in_memory(&over_ssh().1);
}

#[test]
fn the_environment_there_is_that_of_the_place() {
    let world = by_command();
    let mut run = world.command(["run", "--id", "job", "--env", "NAMED=yes", "--env", "TAKEN"]);
    run.args(["--shell", "env"])
        .env("TAKEN", "from here")
        .env("LEFT", "stays");
    let ran = Ran::of(&mut run);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.wait("job");
    let log = world.ok(&["log", "job", "--lines", "1000"]);
    let lines: Vec<&str> = log.lines().collect();
    assert!(
        lines.contains(&"NAMED=yes") && lines.contains(&"TAKEN=from here"),
        "{log}"
    );
    assert!(lines.contains(&"OUTLIVE_JOB=job"), "{log}");
    let home = format!("HOME={}", world.path_there("").display());
    assert!(lines.contains(&home.trim_end_matches('/')), "{log}");
    assert!(!log.contains("LEFT="), "{log}");
}
