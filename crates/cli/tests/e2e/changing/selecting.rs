//! `list`, `wait`, `stop`, `signal` and `prune` by session, task and label.

use super::world;
use outlive_testkit::scripts::{over, sleeper};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Running jobs of two sessions, with tasks and labels, in the order of their names.
fn jobs(world: &World) -> Vec<String> {
    let jobs: [&[&str]; 4] = [
        &["--session", "s", "--task", "t", "--label", "a=1"],
        &["--session", "s", "--label", "a=2", "--label", "b="],
        &["--session", "r", "--task", "t", "--label", "a=1"],
        &[],
    ];
    jobs.iter().map(|options| sleeper(world, options)).collect()
}

fn running(world: &World) -> Vec<String> {
    let mut ids = world.listed(&["--state", "running"]);
    ids.sort();
    ids
}

#[test]
fn every_selection_lists_what_it_says() {
    let world = world();
    let ids = jobs(&world);
    for (options, numbers) in [
        (vec!["--session", "s"], vec![0, 1]),
        (vec!["--task", "t"], vec![0, 2]),
        (vec!["--label", "a"], vec![0, 1, 2]),
        (vec!["--label", "a=1"], vec![0, 2]),
        (vec!["--label", "b="], vec![1]),
        (vec!["--label", "a=1", "--session", "s"], vec![0]),
        (vec!["--label", "a", "--label", "b"], vec![1]),
        (vec!["--label", "c"], vec![]),
        (vec!["--all"], vec![0, 1, 2, 3]),
        (vec!["--older-than", "1h"], vec![]),
        (vec!["--older-than", "0s", "--task", "t"], vec![0, 2]),
    ] {
        let expected: Vec<&String> = numbers.iter().map(|number| &ids[*number]).collect();
        let listed = world.listed(&options);
        assert_eq!(listed.iter().collect::<Vec<_>>(), expected, "{options:?}");
    }
}

#[test]
fn older_jobs_are_found_among_ended_ones_too() {
    let world = world();
    let old = over(&world, &["--", "true"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let young = over(&world, &["--", "true"]);
    assert_eq!(world.listed(&["--older-than", "1s"]), [old]);
    assert_eq!(world.listed(&["--older-than", "1h"]), [""; 0]);
    assert!(world.listed(&[]).contains(&young));
}

#[test]
fn a_stop_stops_what_is_selected_and_nothing_else() {
    let world = world();
    let ids = jobs(&world);
    let answer = world.json(&[
        "stop",
        "--label",
        "a=1",
        "--session",
        "s",
        "--by",
        "the nightly run",
        "--json",
    ]);
    assert_eq!(answer["jobs"][0]["id"], ids[0]);
    assert_eq!(answer["jobs"][0]["ended_by"], "stop");
    assert_eq!(answer["jobs"][0]["ended_by_detail"], "the nightly run");
    let mut rest = ids[1..].to_vec();
    rest.sort();
    assert_eq!(running(&world), rest);
    let none = world.outlive(&["stop", "--label", "nobody", "--json"]);
    assert_eq!((none.code, none.text().as_str()), (0, "{\"jobs\":[]}"));
    assert!(
        none.stderr.contains("no running job is selected"),
        "{none:?}"
    );
    assert_eq!(running(&world), rest);
    world.ok(&["stop", "--all"]);
    assert_eq!(running(&world), [""; 0]);
}

#[test]
fn nothing_is_stopped_unless_it_is_named_or_selected() {
    let world = world();
    let ids = jobs(&world);
    for args in [
        vec!["stop"],
        vec!["stop", &ids[0], "--all"],
        vec!["stop", &ids[0], "--session", "s"],
        vec!["stop", "--all", "--label", "a"],
        vec!["signal", "TERM"],
        vec!["signal", &ids[0], "TERM", "--all"],
    ] {
        let ran = world.outlive(&args);
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(!ran.stderr.is_empty());
    }
    assert_eq!(running(&world).len(), ids.len());
}

/// A process that an ended job left behind still runs, so a stop reaches it.
#[test]
fn a_stop_of_a_selection_reaches_what_ended_jobs_left_behind() {
    let world = world();
    let id = world.ok(&["run", "--label", "x=1", "--shell", "sleep 60 & exit 0"]);
    world.wait(&id);
    let answer = world.json(&["stop", "--label", "x", "--json"]);
    assert_eq!(answer["jobs"][0]["id"], id);
    world.until_nothing_runs();
}

#[test]
fn a_signal_reaches_every_selected_job() {
    let world = world();
    let script = "trap 'echo got; exit 4' USR1; echo up; while :; do sleep 0.02; done";
    let start = |label: &str| {
        let id = world.ok(&["run", "--label", label, "--shell", script]);
        until("it is up", || world.output(&id).starts_with(b"up"));
        id
    };
    let (first, second, other) = (start("x=1"), start("x=2"), start("y=1"));
    let answer = world.json(&["signal", "--label", "x", "USR1", "--json"]);
    let reached: Vec<&Value> = answer["signals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert_eq!(reached, [&json!(first), &json!(second)]);
    assert_eq!(answer.get("failed"), None);
    for id in [&first, &second] {
        assert_eq!(world.wait(id)["exit_code"], 4);
    }
    assert_eq!(world.show(&other)["state"], "running");
    let none = world.outlive(&["signal", "--label", "x", "USR1"]);
    assert_eq!(none.code, 3, "{none:?}");
    assert!(
        none.stderr.contains("no running job is selected"),
        "{none:?}"
    );
    let one = world.json(&["signal", &other, "USR1", "--json"]);
    assert_eq!(
        one["id"], other,
        "one job has the answer that it always had"
    );
    let bad = world.outlive(&["signal", &other, "NOPE"]);
    assert_eq!(bad.code, 2, "{bad:?}");
}

#[test]
fn a_wait_waits_for_what_is_selected() {
    let world = world();
    let short = world.ok(&["run", "--label", "x=1", "--shell", "sleep 0.3; exit 5"]);
    sleeper(&world, &["--label", "x=2"]);
    let answer = world.outlive(&["wait", "--label", "x=1", "--json", "--timeout", "30s"]);
    assert_eq!(
        (answer.code, answer.job()["id"].as_str()),
        (5, Some(short.as_str()))
    );
    let none = world.outlive(&["wait", "--label", "x=1"]);
    assert_eq!(none.code, 0, "{none:?}");
    assert!(none.stderr.contains("no running job"), "{none:?}");
}

#[test]
fn only_selected_jobs_are_pruned() {
    let world = world();
    let jobs: [&[&str]; 3] = [
        &["--session", "s", "--label", "x=1"],
        &["--session", "s"],
        &["--label", "x=1"],
    ];
    let ids: Vec<String> = jobs
        .iter()
        .map(|options| over(&world, &[options, &["--", "true"][..]].concat()))
        .collect();
    let removed =
        |options: &[&str]| world.json(&[&["prune", "--json"], options].concat())["removed"].clone();
    assert_eq!(
        removed(&["--session", "s", "--older-than", "1h"]),
        json!([])
    );
    assert_eq!(removed(&["--session", "nobody"]), json!([]));
    assert_eq!(
        removed(&["--session", "s", "--label", "x"]),
        json!([ids[0]])
    );
    assert_eq!(removed(&["--label", "x", "--all"]), json!([ids[2]]));
    assert_eq!(world.listed(&[]), [ids[1].clone()]);
}
