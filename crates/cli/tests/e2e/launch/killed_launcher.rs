//! A launcher that is killed during the launch.

use super::text;
use outlive_testkit::checks::exited;
use outlive_testkit::processes::{CONT, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, SystemTime};

fn launch_with_hook(world: &World, id: &str, hook: &str) -> Ran {
    Ran::of(
        world
            .command(["run", "--id", id, "--session", "s", "--name", "n"])
            .args(["--shell", "echo whole; exit 5"])
            .env("OUTLIVE_HOOKS", format!("launcher:{hook}=kill")),
    )
}

fn assert_ran_exactly(world: &World, id: &str) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], exited(5));
    assert_eq!(text(world.output(id)), "whole\n");
    assert_eq!(world.events(id, "started").len(), 1);
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn assert_recorded_as_not_started(world: &World, id: &str) {
    let job = world.show(id);
    assert_eq!(job["state"], "ended", "{job}");
    assert_eq!(job["outcome"]["kind"], "not_started");
    assert_eq!(job["exit_code"], 125);
    assert_eq!(world.outlive(&["wait", id]).code, 125);
    assert_eq!(world.output(id), b"");
    assert_eq!(world.events(id, "started").len(), 0);
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn assert_nothing_left_half(world: &World) {
    world.until_nothing_runs();
    // A link without a job is left by a launcher that was killed before its job had a name.
    let mut live = names_in(&world.home().join("live"));
    live.retain(|id| world.job_dir(id).exists());
    assert_eq!(live, [""; 0]);
}

#[test]
fn a_launcher_killed_before_its_job_has_a_name_leaves_no_job() {
    for hook in ["DirectoryMade", "Linked"] {
        let world = World::new();
        assert_eq!(launch_with_hook(&world, "k", hook).code, 137);
        assert_eq!(world.listed(&[]), [""; 0]);
        assert_eq!(world.outlive(&["show", "k"]).code, 3);
        world.until_nothing_runs();
        // The start can be repeated. A prune removes what the killed launcher left.
        world.ok(&["run", "--id", "k", "--shell", "echo whole; exit 5"]);
        assert_ran_exactly(&world, "k");
        assert_nothing_left_half(&world);
        assert_eq!(world.listed(&[]), ["k"]);
        make_older(&world.home().join("jobs"));
        world.ok(&["prune", "--all"]);
        assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
    }
}

/// Sets an old time on what a killed launcher left.
fn make_older(directory: &Path) {
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for name in names_in(directory) {
        if name.starts_with(".new-") {
            let left = File::open(directory.join(name)).unwrap();
            left.set_modified(long_ago).unwrap();
        }
    }
}

#[test]
fn a_launcher_killed_before_it_started_a_keeper_leaves_a_job_that_never_started() {
    let world = World::new();
    assert_eq!(launch_with_hook(&world, "k", "Named").code, 137);
    assert_recorded_as_not_started(&world, "k");
    assert_eq!(world.listed(&[]), ["k"]);
    assert_nothing_left_half(&world);
    let again = world.outlive(&["run", "--id", "k", "--", "true"]);
    assert_eq!(again.code, 125);
    assert!(again.stderr.contains("not started"), "{again:?}");
}

#[test]
fn a_job_whose_launcher_was_killed_is_listed_though_nobody_asked_for_it_before() {
    let world = World::new();
    assert_eq!(launch_with_hook(&world, "k", "Named").code, 137);
    assert_eq!(world.listed(&[]), ["k"]);
    assert_eq!(world.listed(&["--session", "s"]), ["k"]);
}

#[test]
fn a_launcher_killed_after_its_keeper_started_is_not_missed() {
    let world = World::new();
    assert_eq!(launch_with_hook(&world, "k", "KeeperSpawned").code, 137);
    assert_eq!(world.listed(&[]), ["k"]);
    assert_ran_exactly(&world, "k");
    assert_nothing_left_half(&world);
    assert_eq!(world.as_session("s", &["show", "n"]).code, 0);
    assert_eq!(world.listed(&["--session", "s"]), ["k"]);
}

#[test]
fn a_job_whose_launcher_is_only_slow_is_not_taken_for_abandoned() {
    let world = World::new();
    for hook in ["Named", "KeeperSpawned"] {
        let mut launcher = world
            .command(["run", "--id", hook, "--shell", "echo whole; exit 5"])
            .env("OUTLIVE_HOOKS", format!("launcher:{hook}=stop"))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = launcher.id() as i32;
        until_stopped(pid);
        if hook == "Named" {
            assert_eq!(world.show(hook)["state"], "starting");
        }
        world.listed(&[]);
        kill(pid, CONT);
        assert!(launcher.wait().unwrap().success());
        assert_ran_exactly(&world, hook);
    }
}

#[test]
fn a_launcher_killed_at_any_moment_leaves_a_whole_job_or_none() {
    let world = World::new();
    for number in 0..40 {
        let mut launcher = world
            .command(["run", "--id", &format!("k{number}")])
            .args(["--shell", "echo whole; exit 5"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Not a wait: this varies the moment of the kill.
        thread::sleep(Duration::from_micros(500 * number));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
    }
    world.listed(&[]);
    for id in names_in(&world.home().join("jobs")) {
        if id.starts_with(".new-") {
            continue;
        }
        if world.wait(&id)["outcome"]["kind"] == "not_started" {
            assert_recorded_as_not_started(&world, &id);
        } else {
            assert_ran_exactly(&world, &id);
        }
    }
    assert_nothing_left_half(&world);
}
