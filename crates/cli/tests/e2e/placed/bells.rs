//! The configured doorbells of jobs that their place does not have, or that were given up.

use super::Far;
use outlive_testkit::processes::{KILL, kill, of_jobs_in};
use outlive_testkit::waiting::until;
use std::fs;

/// A doorbell that leaves a line in a file.
fn with_doorbell() -> Far {
    let far = Far::new();
    let config = far.world.path("config/outlive/config.toml");
    let place = fs::read_to_string(&config).unwrap();
    let file = far.world.path("rang");
    far.configure(&format!(
        "{place}\n[[doorbell]]\nname = \"mine\"\nkind = \"command\"\ncommand = \"echo rang >> '{}'\"\n",
        file.display()
    ));
    far
}

#[test]
fn a_job_that_was_given_up_has_no_doorbell_to_ring_and_can_be_removed() {
    let far = with_doorbell();
    let world = &far.world;
    far.start("job", "exec sleep 600");
    world.ok(&["place", "remove", "far", "--forget"]);
    let job = world.show("job");
    assert_eq!(job["doorbells"][0]["state"], "given_up", "{job}");
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    for pid in of_jobs_in(&far.there(".local/state/outlive/jobs")) {
        kill(pid, KILL);
    }
}

#[test]
fn a_job_that_was_not_started_there_rings_here() {
    let far = with_doorbell();
    let world = &far.world;
    world.ok(&["place", "check", "far"]);
    // Nothing can be made there.
    let jobs = far.there(".local/state/outlive/jobs");
    let _ = fs::remove_dir_all(&jobs);
    fs::write(&jobs, "").unwrap();
    let args = ["run", "--place", "far", "--id", "job", "--", "true"];
    assert_ne!(world.outlive(&args).code, 0);
    assert_eq!(world.show("job")["outcome"]["kind"], "not_started");
    until("it rings", || world.path("rang").exists());
}

#[test]
fn a_job_whose_doorbell_waits_is_removed_if_forced() {
    let far = with_doorbell();
    let world = &far.world;
    far.start("job", "exec sleep 600");
    // As after a change by hand: nobody will ring.
    far.configure("");
    world.kill_couriers();
    for pid in of_jobs_in(&far.there(".local/state/outlive/jobs")) {
        kill(pid, KILL);
    }
    let lost = r#"{"lost":{"reason":"x","at":1}}"#;
    let placed = world.job_dir("job").join("placed");
    let text = fs::read_to_string(&placed).unwrap();
    fs::write(&placed, format!("{text}{lost}\n")).unwrap();
    world.show("job");
    let ran = world.outlive(&["prune", "--all"]);
    assert_eq!(world.listed(&["--state", "all"]), ["job"], "{ran:?}");
    let ran = world.outlive(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0], "{ran:?}");
}
