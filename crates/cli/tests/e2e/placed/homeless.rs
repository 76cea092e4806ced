//! The home there is removed while the place is connected. What its jobs do is not known any more, and is not made up.

use super::Far;
use outlive_testkit::checks::every;
use outlive_testkit::processes::{KILL, begin, kill, of_jobs_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use std::fs;
use std::path::PathBuf;

/// What is removed: the directory of our jobs, or all that the user has there.
const REMOVED: [&str; 2] = [".local/state/outlive", ""];

/// A job that runs at a place whose home was removed. Somebody keeps the connection.
fn homeless(removed: &str) -> Far {
    let far = Far::new();
    far.start("job", "echo up; exec sleep 600");
    far.start("other", "exec sleep 600");
    let mut waiter = begin(far.world.command(["wait", "other"]));
    until("somebody waits", || far.is_listened_to());
    fs::remove_dir_all(far.there(removed)).unwrap();
    assert!(waiter.try_wait().unwrap().is_none());
    waiter.kill().unwrap();
    waiter.wait().unwrap();
    far
}

impl Far {
    fn jobs_there(&self) -> PathBuf {
        self.there(".local/state/outlive/jobs")
    }
}

#[test]
fn verbs_say_soon_that_its_jobs_are_not_reached() {
    every(
        &REMOVED,
        |removed| format!("without {removed:?}"),
        |removed| {
            let far = homeless(removed);
            for args in [
                &["stop", "job"][..],
                &["log", "job"],
                &["signal", "job", "USR1"],
            ] {
                let ran: Ran = far.world.try_outlive(args).unwrap();
                assert_eq!(ran.code, 125, "{args:?}: {ran:?}");
                assert!(ran.stderr.contains("not reached"), "{args:?}: {ran:?}");
            }
            let job = far.world.show("job");
            assert_eq!(job["state"], "unreachable", "{job}");
            assert_eq!(job["last"]["state"], "running", "{job}");
            assert!(job["outcome"].is_null(), "{job}");
            let ran = far.world.try_outlive(&["wait", "job", "--timeout", "1s"]);
            assert_eq!(ran.unwrap().code, 124);
            for pid in of_jobs_in(&far.jobs_there()) {
                kill(pid, KILL);
            }
        },
    );
}

/// The verb that finds out is answered, too.
#[test]
fn each_verb_alone_says_so() {
    let verbs = [
        &["stop", "job"][..],
        &["show", "job"],
        &["log", "job"],
        &["log", "job", "--follow"],
        &["send", "job", "text"],
        &["prune", "--all"],
        &["place", "check", "far"],
    ];
    every(
        &verbs,
        |args| format!("{args:?}"),
        |args| {
            let far = homeless(REMOVED[0]);
            let ran: Ran = far.world.try_outlive(args).unwrap();
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("lost"), "{ran:?}");
            if args[0] != "prune" && args[0] != "place" {
                assert!(said.contains("home"), "{ran:?}");
            }
            for pid in of_jobs_in(&far.jobs_there()) {
                kill(pid, KILL);
            }
        },
    );
}
