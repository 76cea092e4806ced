//! `prune` never removes a job that has a running process.

use super::{DAY_MS, removed, set_wall};
use outlive_testkit::processes::is_alive;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

#[test]
fn no_option_removes_a_running_job() {
    let world = World::new();
    let id = sleeper(&world, &["--name", "dev", "--session", "s"]);
    for args in [
        &["--all", "--force"][..],
        &["--keep", "0", "--force"],
        &["--max-size", "0", "--force"],
        &["--older-than", "0", "--force"],
    ] {
        assert_eq!(removed(&world, args), [""; 0], "{args:?}");
    }
    assert_eq!(world.show(&id)["state"], "running");
    assert_eq!(world.as_session("s", &["stop", &id]).code, 0);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn a_job_with_lingering_processes_is_not_removed() {
    let world = World::new();
    let id = world.shell("setsid sleep 60 & exit 0");
    world.wait(&id);
    set_wall(&world, &id, |_, wall| wall - 30 * DAY_MS);
    for args in [
        &[][..],
        &["--all"],
        &["--all", "--force"],
        &["--keep", "0", "--force"],
    ] {
        assert_eq!(removed(&world, args), [""; 0], "{args:?}");
    }
    assert_eq!(world.show(&id)["lingering"], 1);
    world.ok(&["stop", &id]);
    assert_eq!(removed(&world, &["--all"]), [id.as_str()]);
}

#[test]
fn a_running_job_whose_spec_is_damaged_stays_even_when_forced() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let pid = world.leader(&id);
    fs::write(world.job_dir(&id).join("spec.json"), "garbage").unwrap();
    let answer = world.json(&["prune", "--all", "--force", "--json"]);
    assert_eq!(answer["removed"], json!([]));
    assert!(world.job_dir(&id).join("journal").exists());
    assert!(is_alive(pid));
}

#[test]
fn a_job_without_keepers_is_not_removed() {
    let world = World::new();
    let id = sleeper(&world, &[]);
    let leader = world.leader(&id);
    world.kill_both(&id);
    assert_eq!(removed(&world, &["--all", "--force"]), [""; 0]);
    assert_eq!(world.show(&id)["pid"], leader);
}
