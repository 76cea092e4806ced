//! A job from start to end, and the programs themselves.

use outlive_testkit::programs::copy_program;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::process::Command;

#[test]
fn a_job_runs_from_start_to_end() {
    let world = World::new();
    let id = world.shell("echo hello; exit 3");
    let job = world.wait(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 3 }));
    assert_eq!(job["exit_code"], 3);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.output(&id), b"hello\n");
    assert_eq!(world.events(&id, "ended").len(), 1);
}

/// `cargo run` builds no keeper, and a person may copy one of the two programs without the other.
#[test]
fn outlive_is_its_own_keeper_if_none_lies_beside_it() {
    let world = World::new();
    let alone = world.path("outlive");
    copy_program(outlive_testkit::programs::outlive(), &alone);
    let ran = Ran::of(
        Command::new(&alone)
            .args(["run", "--wait", "--shell", "echo alone; exit 4"])
            .env("OUTLIVE_HOME", world.home()),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (4, "alone\n"));
}

#[test]
fn an_embedder_names_its_keeper() {
    let world = World::new();
    let keeper = outlive_testkit::programs::keeper();
    let run = |keeper: &str| {
        Ran::of(
            world
                .command(["run", "--wait", "--", "echo", "hi"])
                .env("OUTLIVE_KEEPER", keeper),
        )
    };
    assert_eq!(run(keeper).stdout, "hi\n");
    let missing = run("/nonexistent/keeper");
    assert_eq!(missing.code, 125);
    assert!(
        missing.stderr.contains("/nonexistent/keeper"),
        "{missing:?}"
    );
}

#[test]
fn doctor_says_what_this_machine_offers() {
    let world = World::new();
    let report = world.json(&["doctor", "--json"]);
    let verdict = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks
            .iter()
            .find(|check| check["name"] == name)
            .map(|check| check["verdict"].clone())
    };
    for name in [
        "home",
        "keeper",
        "configuration",
        "exit records",
        "subreaper",
        "splice",
        "locks",
        "sockets",
        "reserved space",
        "hole punching",
        "boot id",
        "limits",
    ] {
        assert_eq!(verdict(name), Some(json!("good")), "{name} in {report}");
    }
    assert!(
        fs::read_dir(world.home().join("jobs"))
            .unwrap()
            .next()
            .is_none(),
        "doctor left something behind"
    );
}

#[test]
fn wrong_usage_exits_2_and_names_the_fix() {
    let world = World::new();
    for (args, word) in [
        (&["run"][..], "give a command"),
        (&["run", "--timeout", "soon", "--", "true"], "30s"),
        (&["run", "--env", "novalue", "--", "true"], "KEY=VALUE"),
        (&["run", "--shell", "  "], "no command"),
        (&["run", "--bogus", "--", "true"], "--bogus"),
        (&["log", "x", "--bytes", "9:3"], "ends before it begins"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let ran = world.outlive(args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(word), "{args:?}: {ran:?}");
    }
    assert!(!world.home().exists(), "a refused command made a home");
}

#[test]
fn show_says_whether_it_is_ready() {
    let world = World::new();
    let script = format!("{}; echo up; exec sleep 60", loop_until(&world.path("go")));
    let id = world.ok(&["run", "--ready", "line:^up$", "--shell", &script]);
    let shown = world.ok(&["show", &id]);
    assert!(shown.contains("\nready     not yet\n"), "{shown}");
    fs::write(world.path("go"), "").unwrap();
    world.ok(&["wait", &id, "--for", "ready"]);
    let shown = world.ok(&["show", &id]);
    assert!(shown.contains("\nready     yes\n"), "{shown}");
    let never = world.ok(&["run", "--ready", "line:^up$", "--", "true"]);
    world.wait(&never);
    let shown = world.ok(&["show", &never]);
    assert!(shown.contains("\nready     it never was\n"), "{shown}");
}
