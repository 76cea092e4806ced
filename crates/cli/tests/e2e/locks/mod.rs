//! `--lock`: one job runs at a time and the others wait. And `--unless-running`.

mod holders;
mod idle;
mod killed;
mod names;
mod stopped;
mod turns;
mod unless_running;
mod verbs;

use outlive_sys::process;
use outlive_testkit::checks::exited;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, ok, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

/// Starts a job that holds the lock `x` until the test lets it end.
fn holder(world: &World) -> String {
    locked(world, WAITS)
}

/// Starts a job with the lock `x`.
fn locked(world: &World, script: &str) -> String {
    ok(world, &["run", "--lock", "x", "--shell", script])
}

/// Starts a job with the lock `x`, which has to wait for `holder`.
fn waiter(world: &World, holder: &str, options: &[&str], script: &str) -> String {
    let args = [&["run", "--lock", "x"], options, &["--shell", script]].concat();
    let id = ok(world, &args);
    assert_waits(world, &id, holder);
    id
}

/// Like [`waiter`], with hooks for the job's keepers.
fn waiter_with_hooks(world: &World, holder: &str, hooks: &str, script: &str) -> String {
    let args = ["run", "--lock", "x", "--shell", script];
    let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.trim_end().to_owned();
    assert_waits(world, &id, holder);
    id
}

fn assert_waits(world: &World, id: &str, holder: &str) {
    let job = world.show(id);
    assert_eq!(job["state"], "waiting", "{job}");
    assert_eq!(job["waiting_for"], json!({ "lock": "x", "holder": holder }));
    assert_eq!(job["pid"], json!(null));
    assert_eq!(world.events(id, "spawned").len(), 0);
}

/// Checks that the job ran once, to its end, and started after the other job had ended.
fn assert_ran_after(world: &World, id: &str, other: &str) {
    let job = world.wait(id);
    assert_eq!(job["outcome"], exited(0), "{job}");
    assert_eq!(job.get("waiting_for"), None, "{job}");
    assert_eq!(world.events(id, "spawned").len(), 1);
    assert_eq!(world.events(id, "started").len(), 1);
    let (began, ended) = (world.boot_ms(id, "spawned"), world.boot_ms(other, "ended"));
    assert!(began >= ended, "{id} began {} ms early", ended - began);
}

/// The pids of the errands of a job: processes that work for its keepers.
pub(crate) fn errands(world: &World, id: &str) -> Vec<i32> {
    let mark = format!("{}#errand", world.job_dir(id).display());
    let of_job = |pid: &i32| {
        process::started_with(*pid, "OUTLIVE_JOB_DIR")
            .ok()
            .flatten()
            .is_some_and(|has| has == mark.as_bytes())
    };
    world.processes().into_iter().filter(of_job).collect()
}

/// The errand that waits for the lock.
pub(crate) fn errand(world: &World, id: &str) -> i32 {
    until("one waits for the lock", || errands(world, id).len() == 1);
    errands(world, id)[0]
}

/// A file to which jobs append lines.
pub(crate) struct Book {
    path: PathBuf,
}

impl Book {
    pub(crate) fn new(world: &World) -> Book {
        let path = world.path("book");
        Book { path }
    }

    pub(crate) fn note(&self, line: &str) -> String {
        format!("echo {line} >> {}; ", self.path.display())
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
