//! What `list` and `show` print about jobs and about a home.

use super::ended;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The keys that `shared/INTERFACE.md` promises for every job.
const KEYS: [&str; 22] = [
    "id",
    "name",
    "session",
    "task",
    "place",
    "command",
    "argv",
    "cwd",
    "pty",
    "state",
    "pid",
    "started_at",
    "ended_at",
    "duration_ms",
    "outcome",
    "exit_code",
    "ended_by",
    "lingering",
    "output",
    "awaiting_input",
    "ready",
    "usage",
];

fn keys(object: &Value) -> BTreeSet<&str> {
    let object = object.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

#[test]
fn every_job_in_json_has_every_key_of_the_interface() {
    let world = World::new();
    let running = sleeper(&world, &["--name", "n", "--session", "s", "--task", "t"]);
    let over = ended(&world, &[]);
    let answer = world.json(&["list", "--json"]);
    assert_eq!(keys(&answer), BTreeSet::from(["jobs"]));
    for job in answer["jobs"].as_array().unwrap() {
        assert_eq!(keys(job), BTreeSet::from(KEYS), "{job}");
        assert_eq!(
            keys(&job["output"]),
            BTreeSet::from(["bytes", "complete", "dropped_bytes", "path"])
        );
    }
    let jobs = [&answer["jobs"][0], &answer["jobs"][1]];
    assert_eq!(
        [&jobs[0]["id"], &jobs[1]["id"]],
        [&json!(running), &json!(over)]
    );
    for (key, value) in [
        ("name", json!("n")),
        ("session", json!("s")),
        ("task", json!("t")),
        ("place", json!("local")),
        ("command", json!("sleep 60")),
        ("argv", json!(["sleep", "60"])),
        ("pty", json!(false)),
        ("state", json!("running")),
        ("ended_at", Value::Null),
        ("outcome", Value::Null),
        ("exit_code", Value::Null),
        ("ended_by", Value::Null),
        ("usage", Value::Null),
    ] {
        assert_eq!(jobs[0][key], value, "{key}");
    }
    assert_eq!(jobs[1]["state"], "ended");
    assert!(jobs[1]["pid"].is_i64(), "it is kept");
}

#[test]
fn list_and_show_agree_about_a_job() {
    let world = World::new();
    let id = ended(&world, &["--name", "n"]);
    let mut shown = world.show(&id);
    shown.as_object_mut().unwrap().remove("preview");
    assert_eq!(world.json(&["list", "--json"])["jobs"][0], shown);
}

#[test]
fn the_table_has_one_line_a_job_under_its_headings() {
    let world = World::new();
    let running = sleeper(&world, &["--name", "dev"]);
    let over = world.ok(&["run", "--", "printf", "a\nb"]);
    world.wait(&over);
    let table = world.ok(&["list"]);
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert_eq!(
        lines[0],
        ["ID", "STATE", "TIME", "OUTPUT", "NAME", "COMMAND"]
    );
    assert_eq!(lines[1][..2], [running.as_str(), "running"]);
    assert_eq!(lines[1][lines[1].len() - 3..], ["dev", "sleep", "60"]);
    assert_eq!(lines[2][..3], [over.as_str(), "exited", "0"]);
    // Each column starts below its heading.
    let at = table.lines().next().unwrap().find("COMMAND").unwrap();
    assert_eq!(&table.lines().nth(1).unwrap()[at..], "sleep 60");
}

#[test]
fn ps_is_another_word_for_list() {
    let world = World::new();
    let id = ended(&world, &[]);
    assert_eq!(world.ok(&["ps"]), world.ok(&["list"]));
    assert_eq!(world.json(&["ps", "--json"])["jobs"][0]["id"], id.as_str());
}

#[test]
fn an_empty_home_lists_no_jobs_and_no_errors() {
    let world = World::new();
    let ran = world.outlive(&["list", "--json"]);
    assert_eq!(
        (ran.code, ran.stdout.trim(), ran.stderr.as_str()),
        (0, r#"{"jobs":[]}"#, "")
    );
    let ran = world.outlive(&["list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(!ran.stderr.contains("outlive:"), "{ran:?}");
}

#[test]
fn list_does_not_create_a_missing_home() {
    let world = World::new();
    let elsewhere = world.path("elsewhere");
    let home = elsewhere.to_str().unwrap();
    for args in [
        &["list"][..],
        &["list", "--state", "running", "--json"],
        &["list", "--session", "s"],
        &["--home", home, "list"],
        &["prune", "--all"],
    ] {
        assert_eq!(world.outlive(args).code, 0, "{args:?}");
    }
    assert_eq!(world.outlive(&["show", "x"]).code, 3);
    assert!(!world.home().exists());
    assert!(!elsewhere.exists());
}

#[test]
fn the_home_comes_from_home_or_the_environment() {
    let world = World::new();
    let id = ended(&world, &[]);
    let other = world.path("other");
    let args = ["--home", other.to_str().unwrap(), "list", "--json"];
    assert_eq!(world.json(&args), json!({ "jobs": [] }));
    let mut unset = world.command(["list", "--json", "--home", world.home().to_str().unwrap()]);
    let ran = Ran::of(unset.env_remove("OUTLIVE_HOME"));
    assert!(ran.stdout.contains(&id), "{ran:?}");
}

#[test]
fn counts_of_one_are_in_the_singular() {
    let world = World::new();
    let script = "echo hit; sleep 60 & exit 0";
    let id = world.ok(&[
        "run",
        "--session",
        "s",
        "--watch",
        "hit",
        "--notify",
        "never",
        "--shell",
        script,
    ]);
    world.wait(&id);
    let shown = world.ok(&["show", &id]);
    assert!(shown.contains("1 line reported"), "{shown}");
    let ended = world.ok(&["session", "end", "s", "--drop"]);
    assert_eq!(
        ended,
        "1 event dropped, 0 kept; 0 jobs stopped, 0 still running"
    );
    let few = world.outlive(&["run", "--max-output", "1", "--", "true"]);
    assert!(few.stderr.contains("1 byte is too small"), "{few:?}");
    world.ok(&["stop", &id]);
    let untold = world.ok(&["run", "--session", "s", "--", "true"]);
    world.until_over(&untold);
    let pruned = world.outlive(&["prune", "--all"]).stderr;
    let kept = "outlive: kept 1 job whose session has not been told of the end yet, or for which somebody waits (--force removes it)\n";
    assert_eq!(pruned, kept);
}
