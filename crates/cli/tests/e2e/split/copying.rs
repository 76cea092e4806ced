//! Copies of an output whose streams are told apart: `run --wait`, `run --foreground` and `detach`.

use super::SAID;
use outlive_sys::{process, tree};
use outlive_testkit::checks::{assert_nothing_is_left, until_file};
use outlive_testkit::processes::{KILL, begin, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{let_go, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

const TALK: &str = "echo out 1; echo err 1 >&2; echo out 2; printf 'err 2' >&2; exit 5";

#[test]
fn run_wait_copies_stderr_to_stderr() {
    for how in ["--wait", "--follow", "--wait=30s"] {
        let world = World::new();
        let ran = world.outlive(&["--quiet", "run", "--streams", "split", how, "--shell", TALK]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (5, "out 1\nout 2\n"),
            "{ran:?}"
        );
        assert!(ran.stderr.starts_with("err 1\nerr 2"), "{ran:?}");
    }
}

#[test]
fn run_foreground_copies_stderr_to_stderr() {
    let world = World::new();
    let args = [
        "run",
        "--foreground",
        "--id",
        "job",
        "--streams",
        "split",
        "--shell",
        TALK,
    ];
    let ran = world.outlive(&args);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (5, "out 1\nout 2\n"),
        "{ran:?}"
    );
    assert_eq!(
        ran.stderr,
        "outlive: job starts in the foreground\nerr 1\nerr 2"
    );
    assert_nothing_is_left(&world, "job");
}

/// The process that copies is killed, and another one continues on both streams.
#[test]
fn a_killed_copy_in_the_foreground_continues() {
    let world = World::new();
    let script = format!(
        "{SAID}echo out 1; echo err 1 >&2; until [ -e \"$GO\" ]; do sleep 0.01; done; echo out 2; echo err 2 >&2"
    );
    let args = [
        "run",
        "--foreground",
        "--id",
        "job",
        "--streams",
        "split",
        "--shell",
        &script,
    ];
    let (out, errors) = (world.path("out"), world.path("errors"));
    let mut command = with_go(&world, &args);
    command
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&errors).unwrap());
    let mut front = command.spawn().unwrap();
    until("the first lines are copied", || {
        fs::read(&out).unwrap() == b"out 1\n"
            && fs::read_to_string(&errors).unwrap().ends_with("err 1\n")
    });
    let copies = |pid: &i32| process::arguments(*pid).iter().any(|word| word == b"copy");
    let children = tree::children(front.id() as i32).unwrap();
    let copying = *children.iter().find(|pid| copies(pid)).unwrap();
    kill(copying, KILL);
    let_go(&world);
    assert_eq!(front.wait().unwrap().code(), Some(0));
    until_file(&out, b"out 1\nout 2\n");
    assert!(
        fs::read_to_string(&errors)
            .unwrap()
            .ends_with("\nerr 1\nerr 2\n")
    );
    assert_nothing_is_left(&world, "job");
}

#[test]
fn the_log_of_detach_has_both_streams() {
    let world = World::new();
    let log = world.path("log");
    let log = log.to_str().unwrap();
    let script = format!("{SAID}echo out; said 4; echo err >&2");
    world.ok(&[
        "detach",
        "--streams",
        "split",
        "--id",
        "job",
        log,
        "--",
        "sh",
        "-c",
        &script,
    ]);
    world.wait("job");
    until_file(log.as_ref(), b"out\nerr\n");
    let stderr = world.outlive(&["log", "job", "--stderr"]).stdout;
    assert_eq!(stderr, "err\n");
}

/// A client that copies both streams is killed; the job is not.
#[test]
fn a_killed_client_does_not_matter() {
    let world = World::new();
    let args = [
        "run",
        "--id",
        "job",
        "--streams",
        "split",
        "--wait",
        "--shell",
        "echo up >&2; until [ -e \"$GO\" ]; do sleep 0.01; done; echo done",
    ];
    let mut client = begin(with_go(&world, &args));
    until("it is up", || world.output("job") == b"up\n");
    kill(client.id() as i32, KILL);
    client.wait().unwrap();
    let_go(&world);
    world.wait("job");
    assert_eq!(super::stream(&world, "job", "--stdout"), b"done\n");
    let ran = Ran::of(&mut world.command(["log", "job", "--stderr"]));
    assert_eq!(ran.stdout, "up\n");
}
