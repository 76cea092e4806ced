//! When a pass is made, by whom, and that nobody waits for it.

use super::{exists, make_due, old, stamp, start};
use crate::mcp::client::Client;
use outlive::{Outlive, Run};
use outlive_testkit::processes::{CONT, begin, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::over;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

#[test]
fn the_first_start_in_a_home_removes_nothing_and_later_ones_once_an_hour() {
    let world = World::new();
    let id = old(&world, 400);
    fs::remove_file(stamp(&world)).unwrap();
    over(&world, &["--", "true"]);
    assert!(stamp(&world).exists() && exists(&world, &id));
    over(&world, &["--", "true"]);
    assert!(exists(&world, &id), "an hour has not passed");
    start(&world);
    assert!(!exists(&world, &id));
    let age = fs::metadata(stamp(&world))
        .unwrap()
        .modified()
        .unwrap()
        .elapsed();
    assert!(
        age.unwrap() < Duration::from_secs(60),
        "the next is in an hour"
    );
    let id = old(&world, 400);
    over(&world, &["--", "true"]);
    assert!(exists(&world, &id));
}

#[test]
fn a_clock_that_was_wrong_does_not_switch_it_off() {
    let world = World::new();
    let id = old(&world, 400);
    super::touch(&stamp(&world), "10 years");
    over(&world, &["--", "true"]);
    assert!(!exists(&world, &id));
}

#[test]
fn the_job_runs_before_anything_is_removed_and_nobody_else_waits() {
    let world = World::new();
    let id = old(&world, 400);
    make_due(&world);
    let mut first = world.command(["run", "--id", "first", "--", "sleep", "600"]);
    first.env("OUTLIVE_HOOKS", "pruner:RetentionBegun=stop");
    first.stdout(Stdio::piped());
    let first = begin(first);
    until_stopped(first.id() as i32);
    assert_eq!(world.show("first")["state"], "running");
    // The other one goes on at once, and leaves the work to the first.
    over(&world, &["--", "true"]);
    assert!(exists(&world, &id));
    kill(first.id() as i32, CONT);
    let ran = Ran::end_of(first);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "first\n"));
    assert!(!exists(&world, &id));
}

#[test]
fn many_starts_at_once_remove_each_job_once_and_harm_none() {
    let world = World::new();
    let ids: Vec<String> = (0..12).map(|n| old(&world, 40 + n)).collect();
    make_due(&world);
    thread::scope(|scope| {
        for n in 0..8 {
            let world = &world;
            scope.spawn(move || {
                let id = format!("new{n}");
                let ran = world.outlive(&["run", "--id", &id, "--", "sleep", "600"]);
                assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
            });
        }
    });
    // On a busy machine, one pass may not reach all of them.
    start(&world);
    assert_eq!(super::existing(&world, &ids), [""; 0]);
    for n in 0..8 {
        assert_eq!(world.show(&format!("new{n}"))["state"], "running");
    }
}

#[test]
fn a_start_by_a_model_or_a_program_counts_too() {
    let world = World::new();
    let id = old(&world, 400);
    make_due(&world);
    let mut client = Client::of(&world, "s");
    client.ok("run", json!({"command": "true", "wait_seconds": 20}));
    assert!(!exists(&world, &id));
    let id = old(&world, 400);
    make_due(&world);
    let outlive = Outlive::open_at(world.home()).unwrap();
    outlive.run(Run::argv(["true"])).unwrap().wait().unwrap();
    assert!(!exists(&world, &id));
}

#[test]
fn a_home_that_cannot_be_tidied_still_starts_jobs() {
    let world = World::new();
    let id = old(&world, 400);
    fs::remove_file(stamp(&world)).unwrap();
    fs::create_dir(stamp(&world)).unwrap();
    super::touch(&stamp(&world), "2 hours ago");
    let ran = world.outlive(&["run", "--wait", "--", "echo", "hi"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("hi\n", ""));
    assert!(exists(&world, &id));
}

#[test]
fn doctor_says_what_holds() {
    let world = World::new();
    let said = world.ok(&["doctor"]);
    for part in ["retention", "30 days", "1000 jobs", "10.0 GiB"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    super::configure(&world, "[retention]\nage = \"12h\"\njobs = 0\nsize = 0\n");
    let said = world.ok(&["doctor"]);
    assert!(
        said.contains("12h00m after their end") && !said.contains("1000 jobs"),
        "{said}"
    );
    super::configure(&world, "[retention]\nenabled = false\n");
    let said = world.ok(&["doctor"]);
    assert!(
        said.contains("only `outlive prune` removes ended jobs"),
        "{said}"
    );
}
