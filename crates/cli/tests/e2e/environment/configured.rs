//! `[defaults]` in the configuration.

use super::{configure, of_job};
use crate::mcp::client::{Client, text_of};
use outlive::{Outlive, Run};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;

const DEFAULTS: &str = "[defaults]\ntimeout = \"90m\"\nplain = true\nnotify = \"failure\"\n";

fn spec(world: &World, id: &str) -> Value {
    let text = fs::read_to_string(world.job_dir(id).join("spec.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_request_that_says_nothing_gets_the_defaults() {
    let world = World::new();
    configure(&world, DEFAULTS);
    let id = world.ok(&["run", "--", "true"]);
    let spec = spec(&world, &id);
    assert_eq!(spec["timeout_ms"], 90 * 60 * 1000);
    assert_eq!(spec["notify"], "failure");
    let (job, _) = of_job(&world, &[], &[]);
    assert_eq!((&*job["NO_COLOR"], &*job["PAGER"]), ("1", "cat"));
    // And without the file, nothing of it.
    fs::remove_file(world.home().join("config.toml")).unwrap();
    let id = world.ok(&["run", "--", "true"]);
    let spec = self::spec(&world, &id);
    assert_eq!(
        (&spec["timeout_ms"], &spec["notify"]),
        (&Value::Null, &json!("end"))
    );
}

#[test]
fn what_the_caller_says_wins() {
    let world = World::new();
    configure(&world, DEFAULTS);
    let options = ["--timeout", "0", "--notify", "end", "--plain=false"];
    let id = world.ok(&[&["run"], &options[..], &["--", "true"]].concat());
    let found = spec(&world, &id);
    assert_eq!(
        (&found["timeout_ms"], &found["notify"]),
        (&Value::Null, &json!("end"))
    );
    let (job, _) = of_job(&world, &options, &[("NO_COLOR", "0")]);
    assert_eq!(job["NO_COLOR"], "0");
    let id = world.ok(&["run", "--timeout", "5s", "--notify", "never", "--", "true"]);
    let found = spec(&world, &id);
    assert_eq!(
        (&found["timeout_ms"], &found["notify"]),
        (&json!(5000), &json!("never"))
    );
}

#[test]
fn a_default_timeout_stops_a_job() {
    let world = World::new();
    configure(&world, "[defaults]\ntimeout = \"300ms\"\n");
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "timeout", "{job}");
    // Without a limit it runs on.
    let id = world.ok(&["run", "--timeout=0", "--", "sleep", "0.6"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

#[test]
fn every_face_has_the_same_defaults() {
    let world = World::new();
    configure(&world, DEFAULTS);
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "echo [$NO_COLOR]; sleep 60", "id": "mcp"});
    let reply = client.tool("run", run);
    // The reply says what will happen, not what was asked for.
    assert!(text_of(&reply).contains("if it fails"), "{reply}");
    let found = spec(&world, "mcp");
    assert_eq!(
        (&found["timeout_ms"], &found["notify"]),
        (&json!(5_400_000), &json!("failure"))
    );
    let run = json!({"command": "echo [${NO_COLOR-}]; sleep 60", "id": "own", "timeout_seconds": 0,
        "plain": false, "notify": "end"});
    let reply = client.tool("run", run);
    assert!(text_of(&reply).contains("when it ends"), "{reply}");
    let found = spec(&world, "own");
    assert_eq!(
        (&found["timeout_ms"], &found["notify"]),
        (&Value::Null, &json!("end"))
    );
    client.ok("stop", json!({"ids": ["mcp", "own"]}));
}

#[test]
fn the_library_has_them_too() {
    let world = World::new();
    configure(&world, DEFAULTS);
    let outlive = Outlive::open_at(world.home()).unwrap();
    let specs = [
        Run::argv(["true"]),
        Run::argv(["true"])
            .timeout(Duration::ZERO)
            .notify(outlive::Notify::End),
    ]
    .map(|run| {
        let program = outlive_testkit::programs::directory().join("outlive-keeper");
        assert!(program.exists());
        let job = outlive.run(run).unwrap();
        job.wait().unwrap();
        spec(&world, job.id().as_str())
    });
    assert_eq!(specs[0]["timeout_ms"], 5_400_000);
    assert_eq!(
        (&specs[1]["timeout_ms"], &specs[1]["notify"]),
        (&Value::Null, &json!("end"))
    );
}

#[test]
fn a_wrong_default_starts_nothing_and_names_the_line() {
    let world = World::new();
    for (text, said) in [
        ("[defaults]\nnotify = \"often\"", "end, failure, never"),
        ("[defaults]\nplain = \"yes\"", "true or false"),
        ("[defaults]\nretain = 1", "timeout, plain, notify"),
        ("[environment]\npass = [\"A=b\"]", "without a value"),
        ("[environment]\nwithhold = true", "a text in quotes"),
        ("[retention]\nsize = true", "10G"),
    ] {
        configure(&world, text);
        let ran = world.outlive(&["run", "--", "true"]);
        assert_ne!(ran.code, 0, "{text}");
        assert!(
            ran.stderr.contains(":2:") && ran.stderr.contains(said),
            "{ran:?}"
        );
        assert!(!world.home().join("jobs").exists(), "{text}");
    }
}
