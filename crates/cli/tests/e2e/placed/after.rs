//! `run --place P --after ID`: the wait is at the place, and needs nobody here.

use super::Far;
use outlive_testkit::checks::exited;
use outlive_testkit::couriers::{far_ends_at, kill_all};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use serde_json::json;
use std::fs;

impl Far {
    /// Starts a job there that ends with this code when it is let go.
    fn start_waiting(&self, id: &str, code: i32) {
        let go = self.there("go");
        let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
        self.start(id, &format!("{wait}; exit {code}"));
    }

    fn let_go(&self) {
        fs::write(self.there("go"), "").unwrap();
    }

    /// Starts a job there after others.
    fn start_after(&self, id: &str, after: &[&str]) -> Ran {
        let mut args = vec!["run", "--place", "far", "--id", id, "--session", "s"];
        args.extend(after.iter().flat_map(|other| ["--after", other]));
        args.extend(["--shell", "echo ran"]);
        self.world.outlive(&args)
    }

    fn assert_ran_after(&self, id: &str, other: &str) {
        let job = self.world.wait(id);
        assert_eq!(job["outcome"], exited(0), "{job}");
        assert_eq!(self.world.events(id, "spawned").len(), 1);
        let spawned = self.world.boot_ms(id, "spawned");
        assert!(spawned >= self.world.boot_ms(other, "ended"));
    }
}

#[test]
fn a_job_starts_when_another_one_of_its_place_has_ended() {
    let far = Far::new();
    far.start_waiting("first", 3);
    let ran = far.start_after("second", &["first"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = far.world.show("second");
    assert_eq!(job["state"], "waiting", "{job}");
    assert_eq!(job["waiting_for"], json!({"after": ["first"]}), "{job}");
    // Nobody here is needed for it.
    far.world.kill_couriers();
    kill_all(&far_ends_at(&far.there("")));
    far.let_go();
    until("it has run there", || {
        let output = far.there(".local/state/outlive/jobs/second/output");
        fs::read(output).is_ok_and(|output| output == b"ran\n")
    });
    far.assert_ran_after("second", "first");
    let mut told = far.kinds_told();
    told.sort();
    assert_eq!(told, ["ended", "ended"]);
}

#[test]
fn both_keepers_of_the_other_job_may_be_killed() {
    let far = Far::new();
    far.start_waiting("first", 0);
    let ran = far.start_after("second", &["first:success"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    far.world.kill_both("first");
    far.let_go();
    let job = far.world.wait("second");
    // Whoever adopted the other job could see how it ended, or not.
    match far.world.wait("first")["outcome"]["kind"].as_str() {
        Some("exited") => assert_eq!(job["outcome"], exited(0), "{job}"),
        _ => assert_eq!(job["outcome"]["kind"], "not_started", "{job}"),
    }
}

#[test]
fn a_job_that_needs_success_is_not_started_after_a_failure() {
    let far = Far::new();
    far.start_waiting("first", 3);
    assert_eq!(far.start_after("second", &["first:success"]).code, 0);
    far.let_go();
    let why = "it was to start after the success of first, which failed with exit code 3";
    let job = far.world.wait("second");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    assert_eq!(job["outcome"]["reason"], why, "{job}");
    assert_eq!(far.world.events("second", "spawned").len(), 0);
    // The same if that is known here already.
    let ran = far.start_after("third", &["first:success"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains(why), "{ran:?}");
    assert!(!far.there(".local/state/outlive/jobs/third").exists());
}

/// The place has removed it since.
#[test]
fn an_end_that_is_known_here_counts() {
    let far = Far::new();
    far.world.ok(&[
        "run", "--place", "far", "--id", "first", "--wait", "--", "true",
    ]);
    let jobs = far.there(".local/state/outlive/jobs");
    fs::remove_dir_all(jobs.join("first")).unwrap();
    assert_eq!(far.start_after("second", &["first:success"]).code, 0);
    assert_eq!(far.world.wait("second")["outcome"], exited(0));
}

#[test]
fn a_job_of_another_place_is_refused() {
    let far = Far::new();
    let world = &far.world;
    world.ok(&["run", "--id", "here", "--", "true"]);
    far.start("there", "exec sleep 60");
    for (args, words) in [
        (
            &["--place", "far", "--after", "here"][..],
            "here is a job of local",
        ),
        (&["--after", "there"], "there is a job of far"),
    ] {
        let ran = world.outlive(&[&["run"][..], args, &["--", "true"]].concat());
        assert_eq!(ran.code, 2, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(words), "{args:?}: {ran:?}");
        assert!(
            ran.stderr.contains("after jobs of its own place"),
            "{ran:?}"
        );
    }
    let ran = far.start_after("job", &["none"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(world.listed(&["--state", "all"]).len(), 2);
    world.ok(&["stop", "there"]);
}

/// Its `run` was killed before it was sent. After a job that never was, another one can start.
#[test]
fn a_job_whose_start_was_never_sent_has_ended() {
    let far = Far::new();
    let mut run = far
        .world
        .command(["run", "--place", "far", "--id", "first", "--", "true"]);
    Ran::of(run.env("OUTLIVE_HOOKS", "launcher:Relinked=kill"));
    assert_eq!(far.start_after("second", &["first"]).code, 0);
    assert_eq!(far.world.wait("second")["outcome"], exited(0));
    let ran = far.start_after("third", &["first:success"]);
    assert!(ran.stderr.contains("after the success of first"), "{ran:?}");
}
