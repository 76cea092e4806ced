//! Labels: given at the start, changed later, and shown.

use super::{SESSION, run, waiting, world};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::over;
use serde_json::{Value, json};
use std::thread;

#[test]
fn labels_are_in_jobs_and_events_and_can_be_changed() {
    let world = world();
    let id = run(
        &world,
        &["--label", "suite=unit", "--label", "owner=ci"],
        "exit 3",
    );
    assert_eq!(
        world.wait(&id)["labels"],
        json!({"owner": "ci", "suite": "unit"})
    );
    assert_eq!(
        waiting(&world, "ended")[0]["labels"],
        json!({"owner": "ci", "suite": "unit"})
    );
    world.until_over(&id);
    let answer = world.json(&[
        "label",
        &id,
        "suite=slow",
        "run=7",
        "owner-",
        "none-",
        "--json",
    ]);
    let now = json!({"run": "7", "suite": "slow"});
    assert_eq!(answer["jobs"][0]["labels"], now);
    assert_eq!(world.json(&["list", "--json"])["jobs"][0]["labels"], now);
    assert_eq!(waiting(&world, "ended")[0]["labels"], now);
    assert_eq!(world.ok(&["label", &id]), "run=7\nsuite=slow");
    assert_eq!(
        world.outlive(&["wait", &id]).code,
        3,
        "its end is as it was"
    );
}

#[test]
fn a_job_without_labels_has_none_in_json() {
    let world = world();
    let id = over(&world, &["--", "true"]);
    assert_eq!(world.show(&id).get("labels"), None);
    world.ok(&["label", &id, "x-"]);
    assert_eq!(
        world.events(&id, "changed"),
        Vec::<Value>::new(),
        "nothing has changed"
    );
}

/// Each of many clients at once makes its own change, to a job that runs and to one that has ended.
#[test]
fn changes_at_the_same_time_are_all_made() {
    let world = world();
    let running = run(&world, &[], "sleep 60");
    let ended = over(&world, &["--session", SESSION, "--", "true"]);
    for id in [&running, &ended] {
        thread::scope(|scope| {
            for number in 0..8 {
                let world = &world;
                scope.spawn(move || world.ok(&["label", id, &format!("k{number}=v")]));
            }
        });
        assert_eq!(
            world.show(id)["labels"].as_object().unwrap().len(),
            8,
            "{id}"
        );
        assert_eq!(world.events(id, "changed").len(), 8);
    }
}

#[test]
fn labels_that_cannot_be_used_are_refused_with_what_to_write() {
    let world = world();
    let id = run(&world, &[], "sleep 60");
    for (args, word) in [
        (vec!["run", "--label", "novalue", "--", "true"], "KEY=VALUE"),
        (
            vec!["run", "--label", "a b=c", "--", "true"],
            "letters, digits",
        ),
        (vec!["label", &id, "novalue"], "KEY- to remove"),
        (vec!["list", "--label", "=x"], "letters, digits"),
    ] {
        let ran = world.outlive(&args);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(word), "{ran:?}");
    }
    let many: Vec<String> = (0..65).map(|number| format!("k{number}=v")).collect();
    let ran = Ran::of(world.command(["label", &id]).args(&many));
    assert!(ran.stderr.contains("64 labels, not 65"), "{ran:?}");
    assert_eq!(world.show(&id).get("labels"), None);
}
