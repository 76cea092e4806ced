//! `--unless-running`: if a job already runs the command, no new one is started.

use super::{assert_waits, holder};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::thread;

/// Runs `sleep 60` with `--unless-running`. Returns the printed JSON and stderr.
fn asked(world: &World, options: &[&str]) -> (Value, String) {
    let args = [
        &["run", "--unless-running", "--json"],
        options,
        &["--", "sleep", "60"],
    ];
    let ran = world.outlive(&args.concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    (serde_json::from_str(&ran.stdout).unwrap(), ran.stderr)
}

#[test]
fn unless_running_prints_the_running_job_and_says_so() {
    let world = World::new();
    let (first, said) = asked(&world, &[]);
    assert_eq!(
        (first["state"].as_str(), said.as_str()),
        (Some("running"), "")
    );
    let id = first["id"].as_str().unwrap();
    let (second, said) = asked(&world, &["--name", "other"]);
    assert_eq!(second["id"], id);
    assert_eq!(second["pid"], first["pid"]);
    assert_eq!(second["name"], Value::Null);
    let words = format!("outlive: job {id} already runs this command; nothing was started\n");
    assert_eq!(said, words);
    let plain = world.ok(&["run", "--unless-running", "--", "sleep", "60"]);
    assert_eq!(plain, id);
    assert_eq!(world.listed(&[]), [id]);
}

#[test]
fn unless_running_starts_a_command_that_differs() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let first = sleeper(&world, &["--session", "s"]);
    let same = asked(&world, &["--session", "s"]).0;
    assert_eq!(same["id"], first.as_str());
    for options in [
        &[][..],
        &["--session", "t"],
        &["--session", "s", "--cwd", elsewhere.to_str().unwrap()],
    ] {
        let (job, said) = asked(&world, options);
        assert_ne!(job["id"], first.as_str(), "{options:?}");
        assert_eq!(said, "");
    }
    let shell = world.ok(&[
        "run",
        "--session",
        "s",
        "--unless-running",
        "--shell",
        "sleep 60",
    ]);
    assert_ne!(shell, first);
    assert_eq!(world.listed(&[]).len(), 5);
}

/// Arguments that look the same when printed may have different bytes.
#[test]
fn arguments_are_compared_by_their_bytes() {
    let world = World::new();
    let run = |byte: u8| {
        let bytes = [b'x', byte];
        let mut command = world.command(["run", "--unless-running", "--", "sh", "-c", "sleep 60"]);
        let ran = Ran::of(command.arg(OsStr::from_bytes(&bytes)));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout
    };
    let (one, other) = (run(0xfe), run(0xff));
    assert_ne!(one, other);
    assert_eq!(run(0xff), other);
}

#[test]
fn unless_running_ignores_jobs_that_have_ended() {
    let world = World::new();
    let first = sleeper(&world, &[]);
    world.ok(&["stop", &first]);
    let second = asked(&world, &[]).0;
    assert_ne!(second["id"], first.as_str());
    // A job that has ended does not count, even if it left a process behind.
    let script = "sleep 60 & exit 0";
    let args = ["run", "--unless-running", "--shell", script];
    let lingers = world.ok(&args);
    world.wait(&lingers);
    assert_ne!(world.ok(&args), lingers);
}

#[test]
fn one_of_twenty_concurrent_starts_starts_the_job() {
    let world = World::new();
    let ids: BTreeSet<String> = thread::scope(|scope| {
        let start = || asked(&world, &[]).0["id"].as_str().unwrap().to_owned();
        let started: Vec<_> = (0..20).map(|_| scope.spawn(start)).collect();
        started.into_iter().map(|job| job.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(world.listed(&[]).len(), 1);
    assert_eq!(world.processes().len(), 3);
}

#[test]
fn unless_running_counts_a_job_that_waits_for_its_lock() {
    let world = World::new();
    let first = holder(&world);
    let (second, _) = asked(&world, &["--lock", "x", "--id", "mine"]);
    assert_waits(&world, "mine", &first);
    assert_eq!(second["id"], "mine");
    let (third, said) = asked(&world, &["--lock", "x", "--id", "other"]);
    assert_eq!(
        (third["id"].as_str(), third["state"].as_str()),
        (Some("mine"), Some("waiting"))
    );
    assert!(said.contains("mine already runs this command"), "{said}");
    assert_eq!(world.outlive(&["show", "other"]).code, 3);
    // A start that is repeated with its own ID finds its own job.
    assert_eq!(
        asked(&world, &["--lock", "x", "--id", "mine"]).0["id"],
        "mine"
    );
}

#[test]
fn an_id_that_another_job_has_is_refused_all_the_same() {
    let world = World::new();
    outlive_testkit::scripts::over(&world, &["--id", "mine", "--", "true"]);
    let args = [
        "run",
        "--unless-running",
        "--id",
        "mine",
        "--",
        "sleep",
        "60",
    ];
    let ran = world.outlive(&args);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("mine"), "{ran:?}");
    assert_eq!(world.listed(&[]), ["mine"]);
}

/// With `--wait`, the command exits with the code of the job that already ran.
#[test]
fn unless_running_with_wait_waits_for_the_running_job() {
    let world = World::new();
    let script = format!("{}exit 4", outlive_testkit::scripts::WAITS);
    let args = ["run", "--unless-running", "--shell", &script];
    let first = outlive_testkit::scripts::ok(&world, &args);
    let args = ["run", "--unless-running", "--wait", "--shell", &script];
    let second =
        outlive_testkit::processes::begin(outlive_testkit::scripts::with_go(&world, &args));
    outlive_testkit::processes::until_blocked(second.id() as i32);
    outlive_testkit::scripts::let_go(&world);
    assert_eq!(Ran::end_of(second).code, 4);
    assert_eq!(world.listed(&[]), [first]);
}
