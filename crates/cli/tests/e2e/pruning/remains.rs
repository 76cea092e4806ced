//! What `prune` removes besides jobs: links, and files that killed programs left.

use super::{DAY_MS, ended_ago, removed, texts, touch};
use outlive_testkit::ran::Ran;
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::{over, sleeper};
use outlive_testkit::trace::strace;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[test]
fn the_links_of_a_removed_job_go_with_it() {
    let world = World::new();
    let labels = ["--name", "my/dev", "--session", "s:1", "--task", "t"];
    let id = over(&world, &[&labels[..], &["--", "true"]].concat());
    let nobodys = over(&world, &["--name", "my/dev", "--", "true"]);
    let home = world.home();
    assert_eq!(names_in(&home.join("names")).len(), 1);
    assert_eq!(names_in(&home.join("sessions")).len(), 1);
    let mut all = removed(&world, &["--all"]);
    all.sort();
    assert_eq!(all, [id.as_str(), &nobodys]);
    for place in ["jobs", "live", "names", "sessions"] {
        assert_eq!(names_in(&home.join(place)), [""; 0], "{place}");
    }
    assert_eq!(world.json(&["list", "--json"]), json!({ "jobs": [] }));
    for text in [&id, "my/dev"] {
        assert_eq!(world.outlive(&["show", text]).code, 3);
    }
}

#[test]
fn a_name_that_a_newer_job_has_stays() {
    let world = World::new();
    let old = over(&world, &["--name", "dev", "--session", "s", "--", "true"]);
    let new = sleeper(&world, &["--name", "dev", "--session", "s"]);
    assert_eq!(removed(&world, &["--all"]), [old.as_str()]);
    let shown = world.as_session("s", &["show", "dev", "--json"]);
    assert!(shown.stdout.contains(&new), "{shown:?}");
    assert_eq!(names_in(&world.home().join("sessions/s")), [new.as_str()]);
}

#[test]
fn an_id_is_free_again_once_its_job_is_removed() {
    let world = World::new();
    over(&world, &["--id", "again", "--session", "s", "--", "true"]);
    assert_ne!(
        world.outlive(&["run", "--id", "again", "--", "true"]).code,
        0
    );
    removed(&world, &["--all"]);
    let id = over(&world, &["--id", "again", "--", "sh", "-c", "exit 7"]);
    assert_eq!(world.show(&id)["exit_code"], 7);
}

#[test]
fn the_ends_of_a_day_go_once_all_its_jobs_are_gone() {
    let world = World::new();
    let id = ended_ago(&world, 9 * DAY_MS);
    let other = over(&world, &["--", "true"]);
    let day = |ago: u64| {
        world
            .home()
            .join(format!("ended/{}", (now_ms() - ago) / DAY_MS))
    };
    fs::write(day(9 * DAY_MS), format!("1 {id}\n")).unwrap();
    fs::write(day(8 * DAY_MS), format!("1 {other}\n")).unwrap();
    assert_eq!(removed(&world, &[]), [id.as_str()]);
    assert!(!day(9 * DAY_MS).exists());
    assert!(day(8 * DAY_MS).exists(), "one of its jobs is still there");
}

#[test]
fn half_removed_jobs_of_killed_pruners_are_removed() {
    let world = World::new();
    let gone = world.home().join("jobs/.gone-abc-0001");
    over(&world, &["--", "true"]);
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("output"), "x").unwrap();
    world.ok(&["prune"]);
    assert!(!gone.exists());
}

#[test]
fn half_made_jobs_of_killed_launchers_are_removed_once_they_are_old() {
    let world = World::new();
    over(&world, &["--", "true"]);
    let make = |name: &str| {
        let path = world.home().join("jobs").join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("lock"), "").unwrap();
        path
    };
    let fresh = make(".new-fresh-1-0001");
    let old = make(".new-old-1-0002");
    touch(&old, "2 hours ago");
    world.ok(&["prune"]);
    assert!(fresh.exists());
    assert!(!old.exists());
}

#[test]
fn files_that_are_not_ours_are_left_alone() {
    let world = World::new();
    over(&world, &["--", "true"]);
    let jobs = world.home().join("jobs");
    fs::create_dir(jobs.join(".hidden")).unwrap();
    fs::write(jobs.join("README of mine"), "x").unwrap();
    world.ok(&["prune", "--all", "--force"]);
    assert_eq!(names_in(&jobs), [".hidden", "README of mine"]);
}

#[test]
fn a_job_that_cannot_be_read_goes_only_when_forced() {
    let world = World::new();
    let id = over(&world, &["--", "true"]);
    let good = over(&world, &["--", "true"]);
    fs::write(world.job_dir(&id).join("spec.json"), "garbage").unwrap();
    let ran = world.outlive(&["prune", "--all", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains(&id), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["removed"], json!([good]));
    assert_eq!(answer["unreadable"], json!([id]));
    assert_eq!(removed(&world, &["--force"]), [id.as_str()]);
    assert_eq!(names_in(&world.home().join("jobs")), [""; 0]);
    // Also if the spec can be read and the journal cannot.
    let id = over(&world, &["--session", "s", "--", "true"]);
    fs::remove_file(world.job_dir(&id).join("journal")).unwrap();
    fs::create_dir(world.job_dir(&id).join("journal")).unwrap();
    assert_eq!(removed(&world, &["--all", "--force"]), [id.as_str()]);
    assert_eq!(names_in(&world.home().join("sessions")), [""; 0]);
}

#[test]
fn a_home_that_is_half_made_is_pruned_without_an_error() {
    let world = World::new();
    fs::create_dir_all(world.home().join("jobs")).unwrap();
    let ran = world.outlive(&["prune", "--all"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // The next start completes the home.
    over(&world, &["--", "true"]);
}

fn now_ms() -> u64 {
    let since: Duration = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis() as u64
}

#[test]
fn old_dangling_links_are_removed() {
    let world = World::new();
    let kept = world.ok(&["run", "--session", "s", "--", "true"]);
    assert_eq!(world.as_session("s", &["wait", &kept]).code, 0);
    over(&world, &["--name", "n", "--", "true"]);
    for place in ["live", "sessions/s", "sessions/gone", "inbox/s", "names"] {
        let directory = world.home().join(place);
        fs::create_dir_all(&directory).unwrap();
        for name in ["old", "new"] {
            symlink("nowhere", directory.join(name)).unwrap();
        }
        touch(&directory.join("old"), "2 hours ago");
    }
    world.ok(&["prune"]);
    let names = |place: &str| names_in(&world.home().join(place));
    // A new link may belong to a launcher that is still running.
    assert_eq!(names("live"), ["new"]);
    assert_eq!(names("sessions/s"), [kept.as_str(), "new"]);
    assert_eq!(names("sessions/gone"), ["new"]);
    assert_eq!(names("inbox/s"), ["new"]);
    assert_eq!(names("names"), ["n", "new"]);
}

/// A job may put anything in the place of its links.
#[test]
fn a_job_that_replaced_its_live_link_blocks_no_prune() {
    let world = World::new();
    let link = world.home().join("live/evil");
    let script = format!("rm -f {0}; mkdir -p {0}/x", link.display());
    let evil = world.ok(&["run", "--id", "evil", "--shell", &script]);
    world.wait(&evil);
    world.until_nothing_runs();
    let good = over(&world, &["--", "true"]);
    let mut gone = removed(&world, &["--all"]);
    gone.sort();
    let mut both = [evil, good];
    both.sort();
    assert_eq!(gone, both);
}

#[test]
fn a_job_that_cannot_be_removed_blocks_no_other() {
    let world = World::new();
    let ids = ["a", "b", "c"].map(|id| over(&world, &["--id", id, "--", "true"]));
    let prune = world.command(["prune", "--all", "--json"]);
    let fails = "inject=rename,renameat,renameat2:error=EIO:when=2";
    let ran = Ran::of(&mut strace(
        &prune,
        &world.path("trace"),
        &["-f", "-e", fails],
    ));
    assert_eq!(ran.code, 125, "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let failed = texts(&answer["failed"]);
    let [failed] = failed.as_slice() else {
        panic!("{answer}")
    };
    assert!(
        ran.stderr
            .contains(&format!("outlive: {failed} was not removed: ")),
        "{ran:?}"
    );
    let mut all = [texts(&answer["removed"]), vec![failed.clone()]].concat();
    all.sort();
    assert_eq!(all, ids);
    assert_eq!(world.listed(&["--state", "all"]), [failed.as_str()]);
    assert_eq!(removed(&world, &["--all"]), [failed.as_str()]);
}
