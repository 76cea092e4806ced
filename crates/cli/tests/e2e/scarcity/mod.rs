//! Full disks, no descriptors, no processes, damaged files: the result is a clear error or a repaired state.
//!
//! Many of these tests mount small filesystems or run as other users, so they need root.

mod damage;
mod descriptors;
mod disk;
mod doctor;
mod filesystems;
mod full_disk;
mod half_made;
mod no_inodes;
mod users;

use outlive_sys::process;
use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::ops::Range;
use std::process::Command;

fn assert_calm(ran: &Ran) {
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    assert!(
        ran.code != 101 && ran.code != 134 && ran.code != 139,
        "{ran:?}"
    );
}

/// Checks that the command failed with an error message.
fn assert_clear_error(ran: &Ran) {
    assert_calm(ran);
    assert_ne!(ran.code, 0, "{ran:?}");
    // Stdout is empty, or has the same error as JSON.
    let is_error = ran.stdout.is_empty() || ran.stdout.starts_with("{\"error\":");
    assert!(is_error, "{ran:?}");
    assert!(ran.stderr.starts_with("outlive: "), "{ran:?}");
}

const LINE: usize = 16;

/// A shell command that writes numbered lines of 16 bytes.
fn lines(range: Range<usize>) -> String {
    format!("seq -f %015.0f {} {}", range.start, range.end - 1)
}

fn expected(range: Range<usize>) -> Vec<u8> {
    range
        .flat_map(|n| format!("{n:015}\n").into_bytes())
        .collect()
}

fn assert_ended_exactly(world: &World, id: &str, code: i32, by: &str) {
    let waited = world.outlive(&["wait", id, "--timeout", "20s"]);
    assert_eq!(waited.code, code, "{waited:?}");
    let job = world.show(id);
    assert_eq!(job["state"], "ended");
    assert_eq!(
        (&job["exit_code"], &job["ended_by"]),
        (&json!(code), &json!(by))
    );
    assert_eq!(world.events(id, "ended").len(), 1);
    let listed = world.json(&["list", "--json"]);
    assert_eq!(listed["jobs"][0]["id"], id);
    assert_eq!(listed["jobs"][0]["exit_code"], code);
}

/// Checks that the job is listed once and that no process of it runs.
fn assert_settled(world: &World, id: &str, code: i32) {
    assert_eq!(world.show(id)["exit_code"], code);
    world.until_nothing_runs();
    assert_eq!(world.listed(&[]), [id]);
}

/// Checks that a launch under these limits either ran the job exactly, or was refused clearly and left nothing.
fn assert_whole_or_refused(ran: &Ran, id: &str, outlive: impl Fn(&[&str]) -> Ran, what: &str) {
    assert_calm(ran);
    if ran.code == 0 {
        assert_eq!(ran.stdout, format!("{id}\n"), "{what}");
        let waited = outlive(&["wait", id, "--timeout", "20s"]);
        assert_eq!(waited.code, 5, "{what}: {waited:?}");
        return;
    }
    assert_clear_error(ran);
    let shown = outlive(&["show", id, "--json"]);
    assert_calm(&shown);
    if shown.code != 3 {
        let job: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(job["outcome"]["kind"], "not_started", "{what}: {job}");
        assert_eq!(job["exit_code"], ran.code, "{what}");
    }
}

/// Runs `outlive` under a `ulimit` of the shell.
fn limited(world: &World, limit: &str, args: &[&str]) -> Command {
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    behind("bash", ["-c", &script], &world.command(args))
}

/// The IDs of the jobs that have running processes.
fn leaders(world: &World) -> Vec<String> {
    let mut ids: Vec<String> = world
        .processes()
        .into_iter()
        .filter_map(|pid| process::started_with(pid, "OUTLIVE_JOB").ok().flatten())
        .map(|id| String::from_utf8(id).unwrap())
        .collect();
    ids.sort();
    ids.dedup();
    ids
}
