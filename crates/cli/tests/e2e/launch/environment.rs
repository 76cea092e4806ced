//! The environment of a job, and who can read what is stored.

use super::assert_not_started;
use outlive_testkit::checks::until_output;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Every regular file below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => files.extend(files_below(&entry.path())),
            kind if kind.is_file() => files.push(entry.path()),
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

fn assert_nowhere(world: &World, secret: &str) {
    let files = files_below(&world.home());
    assert!(files.len() >= 3);
    for path in files {
        assert!(!contains(&fs::read(&path).unwrap(), secret), "{path:?}");
    }
    for pid in world.processes() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!contains(&line, secret), "argv of {pid}");
    }
}

#[test]
fn secrets_in_the_environment_are_in_no_file_and_no_argv() {
    let world = World::new();
    let go = world.path("go");
    let script = format!("echo ${{#GIVEN}} ${{#INHERITED}}; {}", loop_until(&go));
    let given = "--env=GIVEN=s3cr3t-given-0xdeadbeef";
    let ran = Ran::of(
        world
            .command(["run", "--id", "s", given, "--shell", &script])
            .env("INHERITED", "s3cr3t-inherited-0xcafe"),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    until_output(&world, "s", "23 23\n");
    assert!(world.processes().len() >= 3);
    assert_nowhere(&world, "s3cr3t");
    let pair = world.pair("s");
    for keeper in [pair.keeper, pair.standby.unwrap()] {
        let line = fs::read(format!("/proc/{keeper}/cmdline")).unwrap();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        // The keeper's name, the directory, and the empty part after the last NUL.
        assert_eq!(words.len(), 3);
        let directory = world.job_dir("s");
        assert_eq!(words[1], directory.to_str().unwrap().as_bytes());
    }
    assert!(!world.ok(&["show", "s"]).contains("s3cr3t"));
    File::create(go).unwrap();
    world.wait("s");
    assert_nowhere(&world, "s3cr3t");
}

#[test]
fn secrets_of_a_job_that_could_not_start_are_in_no_file() {
    let world = World::new();
    let given = "--env=GIVEN=s3cr3t-given";
    let ran = world.outlive(&["run", "--id", "s", given, "--", "/no/such/program"]);
    assert_not_started(&world, &ran, "s", 127, "/no/such/program");
    assert_nowhere(&world, "s3cr3t");
    assert!(!ran.stderr.contains("s3cr3t"));
}

#[test]
fn env_adds_to_the_inherited_environment() {
    let world = World::new();
    let script = "printf '%s|' \"$A\" \"$B\" \"$C\" \"${D-unset}\"";
    let ran = Ran::of(
        world
            .command(["run", "--wait", "--env", "B=given=b\nb", "--env", "C="])
            .args(["--shell", script])
            .envs([("A", "inherited"), ("B", "inherited"), ("C", "inherited")]),
    );
    assert_eq!(ran.stdout, "inherited|given=b\nb||unset|");
}

#[test]
fn python_output_is_unbuffered_unless_the_caller_set_it() {
    let world = World::new();
    let value = |inherited: Option<&str>, given: &[&str]| {
        let mut command = world.command(["run", "--wait"]);
        command.args(given);
        command.args(["--", "printenv", "PYTHONUNBUFFERED"]);
        match inherited {
            Some(value) => command.env("PYTHONUNBUFFERED", value),
            None => command.env_remove("PYTHONUNBUFFERED"),
        };
        Ran::of(&mut command).stdout
    };
    assert_eq!(value(None, &[]), "1\n");
    assert_eq!(value(Some("0"), &[]), "0\n");
    assert_eq!(value(Some(""), &[]), "\n");
    assert_eq!(value(None, &["--env", "PYTHONUNBUFFERED="]), "\n");
    assert_eq!(value(Some("2"), &["--env", "PYTHONUNBUFFERED=3"]), "3\n");
}

#[test]
fn a_job_knows_its_own_id() {
    let world = World::new();
    let ran = world.outlive(&[
        "run",
        "--wait",
        "--id",
        "me",
        "--",
        "printenv",
        "OUTLIVE_JOB",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "me\n"));
}

#[test]
fn files_of_the_home_are_readable_by_their_owner_only() {
    let world = World::new();
    let id = world.ok(&["run", "--name", "n", "--session", "s", "--", "true"]);
    world.wait(&id);
    world.ok(&["run", "--name", "n", "--session", "s", "--", "sleep", "60"]);
    let mut directories = vec![world.home()];
    while let Some(directory) = directories.pop() {
        let mode = fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{directory:?}");
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                directories.push(entry.path());
            } else if metadata.is_file() {
                let mode = metadata.permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
            }
        }
    }
}
