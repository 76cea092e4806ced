//! `run --foreground`: the process that an engine starts stops the job on TERM, copies the job's output, and exits
//! with its code.

mod container;
mod copying;
mod keepers;
mod nested;
mod signals;

use outlive_testkit::checks::{assert_nothing_is_left, until_wrote};
use outlive_testkit::processes::{begin, kill, sleeps_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::process::{Child, Command};

const TERM: i32 = 15;

/// A job that prints `up`, and on TERM saves its work and ends with 9.
const SAVES: &str = "trap 'echo saved; exit 9' TERM; echo up; while :; do sleep 0.02; done";

/// A job that prints `up` and sleeps.
const SLEEPS: &str = "echo up; exec sleep 60";

/// The command `outlive run --foreground --id job` with these options and shell script.
fn command(world: &World, options: &[&str], script: &str) -> Command {
    let args = [
        &["run", "--foreground", "--id", "job"],
        options,
        &["--", "sh", "-c", script],
    ];
    world.command(args.concat())
}

/// Starts a foreground job, and waits until it prints `up`.
fn started(world: &World, options: &[&str], script: &str) -> Child {
    let child = begin(command(world, options, script));
    until_up(world);
    child
}

fn until_up(world: &World) {
    until_wrote(world, "job", "up\n");
}

fn ask_to_end(child: &Child, signal: i32) {
    kill(child.id() as i32, signal);
}

/// The job's end as other clients see it: `ended_by`, its detail, and the exit code.
fn ended(world: &World) -> (Value, Value, Value) {
    let job = world.show("job");
    let part = |key: &str| job[key].clone();
    (part("ended_by"), part("ended_by_detail"), part("exit_code"))
}

fn by_place(signal: &str, code: i32) -> (Value, Value, Value) {
    ("place".into(), signal.into(), code.into())
}

#[test]
fn foreground_exits_with_the_code_of_the_job() {
    for (script, code) in [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)] {
        let world = World::new();
        let ran = Ran::of(&mut command(&world, &[], script));
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:?}");
        assert_eq!(ran.stderr, "outlive: job starts in the foreground\n");
        assert_eq!(world.show("job")["exit_code"], code);
        assert_nothing_is_left(&world, "job");
    }
}

#[test]
fn a_command_that_cannot_start_exits_126_or_127_with_a_reason() {
    for (program, code, reason) in [
        ("/not/there", 127, "/not/there: command not found"),
        ("/dev/null", 126, "/dev/null cannot be executed"),
    ] {
        let world = World::new();
        let ran = world.outlive(&["run", "--foreground", "--", program]);
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:?}");
        assert!(ran.stderr.contains(reason), "{ran:?}");
        let quiet = world.outlive(&["run", "--foreground", "--quiet", "--", program]);
        assert_eq!(quiet.code, code, "{quiet:?}");
        assert!(quiet.stderr.contains(reason), "{quiet:?}");
    }
}

#[test]
fn both_streams_of_the_job_go_to_standard_output() {
    let world = World::new();
    let ran = Ran::of(&mut command(&world, &[], "echo out; echo err >&2"));
    assert_eq!(ran.stdout, "out\nerr\n");
    assert_eq!(world.output("job"), b"out\nerr\n");
}

#[test]
fn the_job_does_not_read_what_the_caller_reads() {
    let world = World::new();
    let mut command = command(&world, &[], "cat; echo end");
    // A file, because the job may close a pipe before the test has written to it.
    let input = world.path("input");
    fs::write(&input, "secret").unwrap();
    let ran = Ran::of(command.stdin(File::open(&input).unwrap()));
    assert_eq!(ran.stdout, "end\n");
}

#[test]
fn other_verbs_see_a_foreground_job_as_any_other() {
    let world = World::new();
    let child = started(&world, &["--name", "web"], SAVES);
    assert_eq!(world.listed(&[]), ["job"]);
    assert_eq!(world.show("web")["state"], "running");
    assert_eq!(world.ok(&["log", "job"]), "up");
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 9);
}

#[test]
fn processes_that_outlive_the_command_are_stopped() {
    let world = World::new();
    let ran = Ran::of(&mut command(&world, &[], "sleep 60 & exit 5"));
    assert_eq!(ran.code, 5, "{ran:?}");
    assert_nothing_is_left(&world, "job");
}

#[test]
fn with_leftovers_keep_it_waits_for_lingering_processes() {
    let world = World::new();
    let child = started(
        &world,
        &["--leftovers", "keep"],
        "sleep 60 & echo up; exit 5",
    );
    assert_eq!(world.wait("job")["exit_code"], 5);
    let (keeper, front) = world.settled_pair("job");
    assert_eq!(front, child.id() as i32, "it waits, and so does {keeper}");
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 5);
    assert_nothing_is_left(&world, "job");
}

#[test]
fn a_foreground_job_that_timed_out_says_so() {
    let world = World::new();
    let ran = Ran::of(&mut command(&world, &["--timeout", "1s"], SLEEPS));
    assert_eq!(ran.code, 143, "{ran:?}");
    assert!(ran.stderr.ends_with("outlive: job: timed out\n"), "{ran:?}");
}

#[test]
fn an_idle_foreground_makes_no_system_calls() {
    let world = World::new();
    let child = started(&world, &[], SLEEPS);
    let (keeper, front) = world.settled_pair("job");
    let copier = copying::copier(front);
    for pid in [keeper, front, copier] {
        until("it sleeps until it is woken", || sleeps_for_good(pid));
    }
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 143);
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let world = World::new();
    for option in ["--wait", "--follow", "--unless-running", "--json"] {
        let ran = world.outlive(&["run", "--foreground", option, "--", "true"]);
        assert_eq!(ran.code, 2, "{option}: {ran:?}");
        assert!(ran.stderr.contains("--foreground"), "{option}: {ran:?}");
    }
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
}

/// The job directory exists already, and the keeper is started in it directly, as an engine would do. To get such a
/// directory, the launcher is killed before it starts a keeper.
#[test]
fn the_keeper_alone_runs_a_job_that_was_made_before() {
    let world = World::new();
    let made = Ran::of(
        world
            .command([
                "run",
                "--id",
                "job",
                "--",
                "sh",
                "-c",
                "echo $OUTLIVE_JOB; exit 4",
            ])
            .env("OUTLIVE_HOOKS", "launcher:Relinked=kill"),
    );
    assert_eq!(made.code, 137, "{made:?}");
    let keeper = outlive_testkit::programs::keeper();
    let directory = world.job_dir("job");
    let words = [directory.to_str().unwrap(), "foreground"];
    let ran = Ran::of(&mut world.within(keeper, words));
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "job\n"), "{ran:?}");
    let again = Ran::of(&mut world.within(keeper, words));
    assert_eq!(again.code, 4, "it has ended: {again:?}");
}

#[test]
fn a_job_that_another_process_keeps_has_no_code_here() {
    let world = World::new();
    let child = started(&world, &[], SAVES);
    let directory = world.job_dir("job");
    let words = [directory.to_str().unwrap(), "foreground"];
    let ran = Ran::of(&mut world.within(outlive_testkit::programs::keeper(), words));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(
        ran.stderr.contains("another process may supervise it"),
        "{ran:?}"
    );
    ask_to_end(&child, TERM);
    assert_eq!(Ran::end_of(child).code, 9);
}
