//! A home with ended jobs of every kind (made by `compat/home.sh`), read by another release.

use super::releases::{self, Release};
use super::{Side, assert_same_as_far_as_known, own_outlive};
use outlive_testkit::checks::{exited, signaled};
use outlive_testkit::ran::ids_of;
use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A job of the home, and its expected outcome and log.
struct Kept {
    id: &'static str,
    outcome: fn() -> Value,
    /// The exit code of `wait`.
    code: i32,
    ended_by: &'static str,
    log: &'static str,
}

const fn kept(
    id: &'static str,
    outcome: fn() -> Value,
    code: i32,
    ended_by: &'static str,
    log: &'static str,
) -> Kept {
    Kept {
        id,
        outcome,
        code,
        ended_by,
        log,
    }
}

/// The expected last two lines of 100,000.
const BOUNDED: &str = "99999\n100000\n";

/// Every kind of job that `home.sh` makes. An older home may lack the newest kinds.
static KINDS: [Kept; 25] = [
    kept("acked", || exited(0), 0, "itself", ""),
    kept("bounded", || exited(0), 0, "itself", BOUNDED),
    kept("detached", || exited(0), 0, "itself", "logged\n"),
    kept("exited-0", || exited(0), 0, "itself", "one\ntwo\n"),
    kept("exited-3", || exited(3), 3, "itself", "failed\n"),
    kept("interrupted", lost, 125, "unknown", "begun\n"),
    kept("labelled", || exited(0), 0, "itself", ""),
    kept("lingered", || exited(5), 5, "itself", "late\n"),
    kept("locked", || exited(0), 0, "itself", ""),
    kept("lost", lost, 125, "unknown", ""),
    kept("named", || exited(0), 0, "itself", ""),
    kept("never-told", || exited(0), 0, "itself", ""),
    kept("not-executable", not_executable, 126, "itself", ""),
    kept("not-found", not_found, 127, "itself", ""),
    kept("piped", || exited(0), 0, "itself", "sent\n"),
    kept("quiet", || exited(0), 0, "itself", "up\n"),
    kept("ready", || exited(0), 0, "itself", "up\n"),
    kept("rung", || exited(6), 6, "itself", ""),
    kept("signaled", || signaled("SIGUSR1"), 138, "signal", ""),
    kept("stopped", || signaled("SIGTERM"), 143, "stop", ""),
    kept(
        "stopped-deaf",
        || signaled("SIGKILL"),
        137,
        "stop",
        "deaf\n",
    ),
    kept("terminal", || exited(0), 0, "itself", "24 80\n"),
    kept("timed-out", || signaled("SIGTERM"), 143, "timeout", ""),
    kept("waited", || exited(0), 0, "itself", ""),
    kept(
        "watched",
        || exited(0),
        0,
        "itself",
        "fine\nwarning: low\nfine\n",
    ),
];

fn lost() -> Value {
    json!({ "kind": "lost" })
}

fn not_found() -> Value {
    json!({ "kind": "not_started", "cause": "not_found" })
}

fn not_executable() -> Value {
    json!({ "kind": "not_started", "cause": "not_executable" })
}

/// The job that was interrupted by a power cut. No verb has looked at it since, so the older programs printed nothing
/// about it.
const UNMET: &str = "interrupted";

/// The session with untold events, and the kinds of those events.
const UNTOLD: &str = "agent";
const UNTOLD_KINDS: [&str; 5] = ["delegation", "ended", "matched", "quiet", "ready"];

/// A home, and what the programs that made it printed about it.
struct Home {
    world: World,
    /// The output of `show --json` for each job; below it, that of the session's inbox.
    jobs: Vec<Value>,
    inbox: Value,
}

impl Home {
    /// `folder` has what those programs printed.
    fn new(world: World, folder: &Path) -> Home {
        let jobs = fs::read_to_string(folder.join("jobs.jsonl")).unwrap();
        let inbox = fs::read_to_string(folder.join("inbox.json")).unwrap();
        Home {
            world,
            jobs: jobs
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
            inbox: serde_json::from_str(&inbox).unwrap(),
        }
    }

    /// The expected values of each of its jobs.
    fn kinds(&self) -> impl Iterator<Item = &'static Kept> {
        let said = self.jobs.iter().map(|job| job["id"].as_str().unwrap());
        let known = |id| KINDS.iter().find(|kept| kept.id == id);
        said.chain([UNMET])
            .map(move |id| known(id).unwrap_or_else(|| panic!("{id} is not among KINDS")))
    }

    /// Runs a check with the program that reads this home and another program.
    fn meet(&self, reader: &Path, other: &Path, check: impl Fn(&Home, &Side, &Side)) {
        let side = |outlive| Side {
            world: &self.world,
            outlive,
        };
        check(self, &side(reader), &side(other));
    }
}

/// Checks homes of older releases with this release's program.
fn each_older_home(check: impl Fn(&Home, &Side, &Side)) {
    for release in Release::all() {
        let world = World::new();
        release.unpack_home(&world.path(""));
        let home = Home::new(world, &release.folder);
        home.meet(&own_outlive(), &release.outlive, &check);
    }
}

/// A check of a home. It gets the program that reads the home, and another program.
type Check = dyn Fn(&Home, &Side, &Side);

/// Checks a home of this release with the programs of older releases.
fn each_newer_home(checks: &[&Check]) {
    let releases = Release::all();
    if releases.is_empty() {
        return;
    }
    let made = World::new();
    let own = own_outlive();
    let mut script = Command::new(releases::root().join("compat/home.sh"));
    script.arg(own.parent().unwrap()).arg(made.path(""));
    assert!(script.status().unwrap().success());
    for release in &releases {
        for check in checks {
            let world = World::new();
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(made.home()).arg(world.home());
            assert!(copy.status().unwrap().success());
            let home = Home::new(world, &made.path(""));
            home.meet(&release.outlive, &own, check);
        }
    }
}

/// The job as printed, without the path of its output and its preview, which differ.
fn comparable(job: &Value) -> Value {
    let mut job = job.clone();
    job["output"].as_object_mut().unwrap().remove("path");
    job.as_object_mut().unwrap().remove("preview");
    job
}

/// Checks that every job is listed, shown, logged and waited for with its own outcome.
fn assert_jobs_are_read(home: &Home, reader: &Side, said_by: SaidBy) {
    let listed = ids_of(&reader.json(&["list", "--state", "all", "--limit", "100", "--json"]));
    let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    let expected: BTreeSet<&str> = home.kinds().map(|job| job.id).collect();
    assert_eq!(listed, expected);
    for job in home.kinds() {
        let shown = reader.show(job.id);
        assert_eq!(shown["state"], "ended", "{shown}");
        assert_same_as_far_as_known(job.id, &(job.outcome)(), &shown["outcome"]);
        assert_eq!(shown["ended_by"], job.ended_by, "{shown}");
        let lines = if job.id == "bounded" { "2" } else { "200" };
        let log = reader.ran(&["log", job.id, "--lines", lines]);
        assert_eq!((log.code, log.stdout.as_str()), (0, job.log), "{}", job.id);
    }
    for said in &home.jobs {
        let id = said["id"].as_str().unwrap();
        let (said, shown) = (comparable(said), comparable(&reader.show(id)));
        match said_by {
            SaidBy::Older => assert_same_as_far_as_known(id, &said, &shown),
            SaidBy::Newer => assert_same_as_far_as_known(id, &shown, &said),
        }
    }
    assert_eq!(reader.show("web")["id"], "named");
    let labelled = reader.json(&["list", "--state", "all", "--task", "build", "--json"]);
    assert_eq!(ids_of(&labelled), ["labelled"]);
    let dropped = &reader.show("bounded")["output"]["dropped_bytes"];
    assert!(dropped.as_u64().unwrap() > 0);
    let first = reader.ok(&["log", "bounded", "--offset", "1", "--lines", "3"]);
    assert_eq!(first, "1\n2\n3");
    let line = reader.ok(&["log", "bounded", "--offset", "99000", "--lines", "1"]);
    assert_eq!(line, "99000");
    for job in home.kinds() {
        assert_eq!(reader.wait(job.id), job.code, "{}", job.id);
    }
}

/// Which release printed the stored answers.
#[derive(Clone, Copy)]
enum SaidBy {
    Older,
    Newer,
}

/// Checks that untold events are told once, and that an ack counts for every release.
fn assert_untold_is_told(home: &Home, reader: &Side, other: &Side) {
    let expected = home.inbox["events"].as_array().unwrap();
    for kind in UNTOLD_KINDS {
        assert!(expected.iter().any(|event| event["kind"] == kind), "{kind}");
    }
    let told = reader.inbox(UNTOLD, &[]);
    let brief = |events: &[Value]| -> BTreeSet<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pair = |event: &Value| (super::bare(&text(&event["event"])), text(&event["kind"]));
        events.iter().map(pair).collect()
    };
    assert_eq!(brief(&told), brief(expected));
    assert_eq!(told.len(), expected.len(), "each of them once");
    for side in [reader, other] {
        assert_eq!(side.inbox(UNTOLD, &[]), [json!(null); 0], "it is claimed");
    }
    for event in &told {
        let id = event["event"].as_str().unwrap();
        reader.ok(&["inbox", "--session", UNTOLD, "--ack", id]);
    }
    for side in [reader, other] {
        let waits = side.json(&["session", "end", UNTOLD, "--json"]);
        assert_eq!(waits["kept"], 0, "{waits}");
        assert_eq!(side.inbox("told", &[]), [json!(null); 0]);
    }
}

/// Checks that a prune keeps jobs with untold events, and that after an ack everything can be removed, including files
/// of unfinished starts.
fn assert_can_be_pruned(home: &Home, reader: &Side) {
    let pruned = reader.json(&["prune", "--all", "--json"]);
    let spared = pruned["untold"].as_array().unwrap();
    assert!(spared.contains(&json!("exited-3")), "{pruned}");
    assert_eq!(reader.show("exited-3")["exit_code"], 3);
    for session in [UNTOLD, "other", "power-cut"] {
        reader.ok(&["inbox", "--session", session, "--ack-all"]);
    }
    reader.ok(&["prune", "--all"]);
    let home = home.world.home();
    let left = names_in(&home.join("jobs"));
    // A launcher may still be working there. A later prune removes it.
    let left: Vec<&String> = left
        .iter()
        .filter(|name| !name.starts_with(".new-"))
        .collect();
    assert_eq!(left, Vec::<&String>::new());
    for place in ["live", "names", "posts"] {
        let mut left = names_in(&home.join(place));
        // This has the IDs of pruned posts, and stays.
        left.retain(|name| name != ".pruned");
        assert_eq!(left, [""; 0], "{place}");
    }
}

#[test]
fn the_jobs_of_an_older_home_are_read() {
    each_older_home(|home, reader, _| assert_jobs_are_read(home, reader, SaidBy::Older));
}

#[test]
fn untold_events_of_an_older_home_are_told_once_and_acked() {
    each_older_home(assert_untold_is_told);
}

#[test]
fn an_older_home_can_be_pruned() {
    each_older_home(|home, reader, _| assert_can_be_pruned(home, reader));
}

#[test]
fn an_older_program_reads_tells_and_prunes_a_newer_home() {
    each_newer_home(&[
        &|home, reader, _| assert_jobs_are_read(home, reader, SaidBy::Newer),
        &assert_untold_is_told,
        &|home, reader, _| assert_can_be_pruned(home, reader),
    ]);
}
