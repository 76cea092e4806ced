//! The configured doorbells of jobs that their place does not have, or that were given up.

use super::Far;
use outlive_testkit::processes::{KILL, kill, of_jobs_in};
use outlive_testkit::ran::Ran;
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

fn rings(far: &Far) -> usize {
    let text = fs::read_to_string(far.world.path("rang")).unwrap_or_default();
    text.lines().count()
}

/// What runs there goes on: nobody here asks for it any more.
fn end_all_there(far: &Far) {
    for pid in of_jobs_in(&far.there(".local/state/outlive/jobs")) {
        kill(pid, KILL);
    }
}

#[test]
fn a_job_that_was_given_up_rings_once_and_can_be_removed() {
    let far = with_doorbell();
    let world = &far.world;
    let run = ["run", "--place", "far", "--on-end", "true", "--id", "job"];
    world.ok(&[&run[..], &["--", "sleep", "600"]].concat());
    far.start("other", "exec sleep 600");
    far.cut();
    world.ok(&["place", "remove", "far", "--forget"]);
    assert_eq!(rings(&far), 2);
    let job = world.show("job");
    let bell = |name: &str| {
        let bells = job["doorbells"].as_array().unwrap();
        bells
            .iter()
            .find(|bell| bell["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(bell("mine")["state"], "rung", "{job}");
    assert_eq!(bell("on-end")["state"], "given_up", "{job}");
    let why = bell("on-end")["failure"].as_str().unwrap().to_owned();
    assert!(why.contains("it rings at far"), "{job}");
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(world.listed(&["--state", "all"]), [""; 0]);
    end_all_there(&far);
}

/// Whoever forgets the place is killed while it rings. The next one goes on.
#[test]
fn a_killed_remove_is_repeated_and_rings_for_the_rest() {
    let far = with_doorbell();
    let world = &far.world;
    far.start("job", "exec sleep 600");
    world.kill_couriers();
    let mut remove = world.command(["place", "remove", "far", "--forget"]);
    let ran = Ran::of(remove.env("OUTLIVE_HOOKS", "courier:Ringing=kill"));
    assert_ne!(ran.code, 0, "{ran:?}");
    assert_eq!(rings(&far), 0);
    world.ok(&["place", "remove", "far", "--forget"]);
    assert_eq!(rings(&far), 1);
    let job = world.show("job");
    assert_eq!(job["outcome"]["kind"], "lost", "{job}");
    assert_eq!(job["doorbells"][0]["state"], "rung", "{job}");
    end_all_there(&far);
}

/// `--on-end` is a command of the place.
#[test]
fn what_was_to_ring_there_does_not_ring_for_a_job_that_never_was_there() {
    let far = Far::new();
    let rang = far.world.path("rang");
    let on_end = format!("touch '{}'", rang.display());
    let run = ["run", "--place", "far", "--on-end", &on_end, "--id", "job"];
    let mut run = far.world.command([&run[..], &["--", "true"]].concat());
    Ran::of(run.env("OUTLIVE_HOOKS", "launcher:Relinked=kill"));
    let job = far.world.wait("job");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    let bell = &job["doorbells"][0];
    assert_eq!(bell["state"], "given_up", "{job}");
    let why = bell["failure"].as_str().unwrap();
    assert!(why.contains("it rings at far"), "{job}");
    assert!(!rang.exists());
    far.world.ok(&["prune", "--all", "--force"]);
    assert_eq!(far.world.listed(&["--state", "all"]), [""; 0]);
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
