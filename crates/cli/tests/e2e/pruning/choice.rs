//! `prune` by age, number and size.

use super::{DAY_MS, ended_ago, removed, set_wall, touch};
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::{over, sleeper};
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn older_than_removes_by_age() {
    let world = World::new();
    let old = ended_ago(&world, 3 * 60 * 60 * 1000);
    let young = ended_ago(&world, 60 * 60 * 1000);
    assert_eq!(removed(&world, &["--older-than", "4h"]), [""; 0]);
    assert_eq!(removed(&world, &["--older-than", "2h"]), [old.as_str()]);
    assert!(!world.job_dir(&old).exists());
    assert_eq!(world.show(&young)["state"], "ended");
}

#[test]
fn age_counts_from_the_end_and_not_from_the_start() {
    let world = World::new();
    let id = ended_ago(&world, 0);
    // The job started a month ago and ended just now.
    set_wall(&world, &id, |kind, wall| match kind {
        "ended" | "closed" => wall,
        _ => wall - 30 * DAY_MS,
    });
    assert_eq!(removed(&world, &["--older-than", "1m"]), [""; 0]);
    // The times of the directory do not count either.
    touch(&world.job_dir(&id), "1 month ago");
    assert_eq!(removed(&world, &[]), [""; 0]);
}

#[test]
fn without_options_prune_removes_jobs_older_than_seven_days() {
    let world = World::new();
    let eight = ended_ago(&world, 8 * DAY_MS);
    let six = ended_ago(&world, 6 * DAY_MS);
    assert_eq!(removed(&world, &[]), [eight.as_str()]);
    assert!(world.job_dir(&six).exists());
}

#[test]
fn keep_keeps_the_jobs_that_ended_last() {
    let world = World::new();
    // The jobs ended in another order than they started.
    let ids: Vec<String> = [3, 1, 4, 2]
        .map(|hours| ended_ago(&world, hours * 60 * 60 * 1000))
        .to_vec();
    let running = sleeper(&world, &[]);
    assert_eq!(removed(&world, &["--keep", "4"]), [""; 0]);
    assert_eq!(
        removed(&world, &["--keep", "2"]),
        [ids[2].as_str(), &ids[0]],
        "the oldest ends, oldest first"
    );
    assert_eq!(
        removed(&world, &["--keep", "0"]),
        [ids[3].as_str(), &ids[1]]
    );
    assert_eq!(world.show(&running)["state"], "running");
}

#[test]
fn max_size_removes_the_oldest_until_the_rest_fits() {
    let world = World::new();
    let ids: Vec<String> = (0..4)
        .map(|_| {
            let id = over(&world, &["--", "head", "-c", "1000000", "/dev/zero"]);
            assert_eq!(world.show(&id)["output"]["bytes"], 1_000_000);
            id
        })
        .collect();
    assert_eq!(removed(&world, &["--max-size", "5M"]), [""; 0]);
    let answer = world.json(&["prune", "--json", "--max-size", "2500K"]);
    assert_eq!(answer["removed"], json!([ids[0], ids[1]]));
    let freed = answer["freed_bytes"].as_u64().unwrap();
    assert!((2_000_000..2_200_000).contains(&freed), "{freed}");
    assert_eq!(
        removed(&world, &["--max-size", "0"]),
        [ids[2].as_str(), &ids[3]]
    );
}

#[test]
fn all_removes_every_ended_job() {
    let world = World::new();
    let running = sleeper(&world, &[]);
    let mut ended: Vec<String> = (0..3).map(|_| over(&world, &["--", "true"])).collect();
    ended.push(not_started(&world));
    let mut gone = removed(&world, &["--all"]);
    gone.sort();
    ended.sort();
    assert_eq!(gone, ended);
    assert_eq!(names_in(&world.home().join("jobs")), [running.as_str()]);
    assert_eq!(
        removed(&world, &["--all"]),
        [""; 0],
        "already so is no error"
    );
}

#[test]
fn a_job_that_any_option_names_is_removed() {
    let world = World::new();
    let old = ended_ago(&world, 3 * DAY_MS);
    let middle = ended_ago(&world, 2 * DAY_MS);
    let new = ended_ago(&world, 0);
    assert_eq!(
        removed(&world, &["--older-than", "60h", "--keep", "1"]),
        [old.as_str(), &middle]
    );
    assert!(world.job_dir(&new).exists());
}

#[test]
fn wrong_usage_removes_nothing() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    for args in [
        &["prune", "--older-than", "yesterday"][..],
        &["prune", "--keep", "-1"],
        &["prune", "--max-size", "lots"],
        &["prune", "--everything"],
        &["prune", &id],
    ] {
        assert_eq!(world.outlive(args).code, 2, "{args:?}");
    }
    assert!(world.job_dir(&id).exists());
}

#[test]
fn the_answer_lists_what_was_removed_and_why_not() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    let answer = world.json(&["prune", "--all", "--json"]);
    assert_eq!(answer["removed"], json!([id]));
    assert!(answer["freed_bytes"].as_u64().unwrap() > 0);
    assert_eq!(answer["untold"], json!([]));
    assert_eq!(answer["unreadable"], json!([]));
    over(&world, &["--", "true"]);
    let said = world.ok(&["prune", "--all"]);
    assert!(said.starts_with("removed 1 job, freed "), "{said}");
}

fn not_started(world: &World) -> String {
    let ran = world.outlive(&["run", "--id", "broken", "--", "/no/such/program"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    // While its keepers are still exiting, prune counts it as busy.
    world.until_over("broken");
    "broken".to_owned()
}
