//! What must not become a job is refused, with the reason.

use super::{Started, adopt, adopted};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::Value;

#[track_caller]
fn assert_refused(world: &World, pid: i32, why: &str) {
    let before = world.listed(&["--state", "all"]);
    let ran = adopt(world, pid, &["--json"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let error = &answer["error"];
    assert_eq!(error["code"], "not_adoptable", "{error}");
    assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    assert_eq!(world.listed(&["--state", "all"]), before, "{error}");
}

#[test]
fn a_process_that_is_not_there() {
    let world = World::new();
    let mut started = Started::with(&world, "exit 0");
    started.reap();
    assert_refused(&world, started.pid(), "no such process");
}

#[test]
fn a_process_that_has_ended_and_is_not_reaped() {
    let world = World::new();
    let started = Started::with(&world, "exit 0");
    outlive_testkit::waiting::until("it is a zombie", || {
        outlive_testkit::processes::state_of(started.pid()) == Some(b'Z')
    });
    assert_refused(&world, started.pid(), "has ended");
}

#[test]
fn the_first_process_and_threads_of_the_kernel() {
    let world = World::new();
    assert_refused(&world, 1, "first process");
    // Not in a container, which does not see the kernel's threads.
    let kernel = outlive_sys::process::stat(2);
    if kernel.is_some_and(|stat| stat.is_kernel_thread()) {
        assert_refused(&world, 2, "thread of the kernel");
    }
}

#[test]
fn an_ancestor_of_the_caller_unless_it_is_forced() {
    let world = World::new();
    assert_refused(&world, std::process::id() as i32, "started this process");
    // The shell adopts itself, and is stopped with the job.
    let mut shell = world.within(
        "sh",
        [
            "-c",
            "outlive=$1; \"$outlive\" adopt $$ --force --id job; exec sleep 600",
            "sh",
        ],
    );
    let mut shell = shell
        .arg(outlive_testkit::programs::outlive())
        .spawn()
        .unwrap();
    outlive_testkit::waiting::until("it is a job", || {
        world.listed(&["--state", "running"]) == ["job"]
    });
    world.ok(&["stop", "job"]);
    assert!(!shell.wait().unwrap().success());
}

#[test]
fn the_processes_of_jobs_and_their_keepers() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let pair = world.pair(&id);
    assert_refused(&world, world.leader(&id), &format!("belongs to job {id}"));
    assert_refused(&world, pair.keeper, &format!("keeper of job {id}"));
    let standby = pair.standby.unwrap();
    assert_refused(&world, standby, &format!("keeper of job {id}"));
    world.ok(&["stop", &id]);
}

#[test]
fn a_process_that_was_adopted_already_and_its_children() {
    let world = World::new();
    let child = world.path("child");
    let script = format!("sleep 600 & echo $! > {}; wait", child.display());
    let started = Started::with(&world, &script);
    let child = super::process_in(&child);
    let id = adopted(&world, started.pid(), &[]);
    assert_refused(&world, started.pid(), &format!("belongs to job {id}"));
    assert_refused(&world, child.pid, &format!("belongs to job {id}"));
    world.ok(&["stop", &id]);
}

/// Many callers adopt one process at the same time: one job is made.
#[test]
fn one_process_becomes_one_job() {
    let world = World::new();
    let started = Started::with(&world, "exec sleep 600");
    let pid = started.pid().to_string();
    let all: Vec<_> = (0..6).map(|_| world.begin(&["adopt", &pid])).collect();
    let codes: Vec<i32> = all.into_iter().map(|one| Ran::end_of(one).code).collect();
    let made = codes.iter().filter(|code| **code == 0).count();
    assert_eq!(made, 1, "{codes:?}");
    assert_eq!(world.listed(&["--state", "all"]).len(), 1);
    world.ok(&["stop", &world.listed(&[])[0]]);
}

#[test]
fn a_process_of_another_user() {
    needs!(Root);
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let started_world = World::new();
    let started = Started::with(&started_world, "exec sleep 600");
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // A program that everybody may execute.
    let program = home.path().join("outlive");
    outlive_testkit::programs::copy_program(outlive_testkit::programs::outlive(), &program);
    let mut command = started_world.within(
        program.to_str().unwrap(),
        ["adopt", &started.pid().to_string()],
    );
    command.env("OUTLIVE_HOME", home.path().join("home"));
    let ran = Ran::of(command.uid(NOBODY).gid(NOBODY).current_dir("/"));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("another user"), "{ran:?}");
}

#[test]
fn without_a_keeper_program_nothing_is_left() {
    let world = World::new();
    let started = Started::with(&world, "exec sleep 600");
    let pid = started.pid().to_string();
    let mut command = world.command(["adopt", &pid]);
    let ran = Ran::of(command.env("OUTLIVE_KEEPER", "/nonexistent/keeper"));
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("/nonexistent/keeper"), "{ran:?}");
    assert_eq!(world.listed(&["--state", "all"]), Vec::<String>::new());
    let id = adopted(&world, started.pid(), &[]);
    world.ok(&["stop", &id]);
}
