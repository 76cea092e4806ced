//! `[limits] jobs_per_session`: how many jobs of one session run at once.

use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::thread;

fn capped(cap: u32) -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    let text = format!("[limits]\njobs_per_session = {cap}\n");
    fs::write(world.home().join("config.toml"), text).unwrap();
    world
}

#[test]
fn a_start_above_the_cap_is_refused_and_says_what_to_do() {
    let world = capped(2);
    let first = sleeper(&world, &["--session", "s"]);
    let second = sleeper(&world, &["--session", "s"]);
    let ran = world.outlive(&["run", "--session", "s", "--", "true"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    let said = "session \"s\" has 2 running jobs, and jobs_per_session in the configuration allows 2; wait for one of \
                them to end, or start it with --queue NAME:N";
    assert!(ran.stderr.contains(said), "{ran:?}");
    let ran = world.outlive(&["run", "--session", "s", "--json", "--", "true"]);
    let failure: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(failure["error"]["code"], "too_many_jobs", "{ran:?}");
    // Another session, no session, and a queue are not concerned.
    sleeper(&world, &["--session", "t"]);
    sleeper(&world, &[]);
    let queued = sleeper(&world, &["--session", "s", "--queue", "q"]);
    assert_eq!(world.show(&queued)["state"], "running");
    world.ok(&["stop", &first]);
    let third = sleeper(&world, &["--session", "s"]);
    assert_eq!(world.show(&third)["state"], "running");
    assert_eq!(world.show(&second)["state"], "running");
}

/// A lower cap stops nothing.
#[test]
fn a_cap_never_stops_what_runs() {
    let world = capped(2);
    let ids = [0, 1].map(|_| sleeper(&world, &["--session", "s"]));
    fs::write(
        world.home().join("config.toml"),
        "[limits]\njobs_per_session = 1\n",
    )
    .unwrap();
    assert_eq!(
        world.outlive(&["run", "--session", "s", "--", "true"]).code,
        125
    );
    for id in &ids {
        assert_eq!(world.show(id)["state"], "running");
    }
}

#[test]
fn twenty_starts_at_once_do_not_exceed_the_cap() {
    let world = capped(3);
    let codes: Vec<i32> = thread::scope(|scope| {
        let start = || {
            world
                .outlive(&["run", "--session", "s", "--", "sleep", "60"])
                .code
        };
        let started: Vec<_> = (0..20).map(|_| scope.spawn(start)).collect();
        started
            .into_iter()
            .map(|code| code.join().unwrap())
            .collect()
    });
    let succeeded = codes.iter().filter(|code| **code == 0).count();
    assert_eq!(succeeded, 3, "{codes:?}");
    assert!(
        codes.iter().all(|code| [0, 125].contains(code)),
        "{codes:?}"
    );
}

/// A start that is repeated with its id is told of its job, not of the cap.
#[test]
fn a_repeated_start_finds_its_job() {
    let world = capped(1);
    let args = ["run", "--session", "s", "--id", "mine", "--", "sleep", "60"];
    world.ok(&args);
    let ran = world.outlive(&args);
    assert!(ran.stderr.contains("the id mine is taken"), "{ran:?}");
}
