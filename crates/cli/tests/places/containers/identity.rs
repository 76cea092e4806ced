//! Which container a name means: one that was removed, made anew, renamed, and another engine.

use super::{BOX, Site, rows};
use outlive_testkit::places::engine::{Engine, Kind};
use serde_json::Value;
use std::fs;

rows! {
    quick: a_removed_container_takes_its_jobs_with_it;
    long: a_container_made_anew_begins_anew, a_renamed_container_still_has_its_jobs,
        another_engine_says_nothing_about_jobs, a_home_on_a_volume_outlives_its_container,
        what_is_not_there_is_named,
}

fn a_removed_container_takes_its_jobs_with_it(kind: Kind) {
    let site = Site::with(kind, &[]);
    site.start("job", &[]);
    let done = site.world.ok(&["run", "--", "echo", "done"]);
    site.world.wait(&done);
    site.engine.remove(BOX);
    let says = format!("{} says that container", kind.as_str());
    site.assert_lost("job", &[&says, "exists no more"]);
    let job = site.world.show("job");
    assert_eq!(job["ended_by"], "place", "{job}");
    assert!(site.refusal().contains("has no container \"box\""));
    // What was heard of it, and when.
    assert_ne!(job["heard_at"], Value::Null, "{job}");
    site.world.ok(&["prune", "--all"]);
    assert_eq!(site.world.listed(&["--state", "all"]), [""; 0]);
}

fn a_container_made_anew_begins_anew(kind: Kind) {
    let site = Site::with(kind, &[]);
    site.start("old", &[]);
    site.engine.remove(BOX);
    site.begin(&[]);
    site.start("new", &[]);
    site.assert_lost("old", &["exists no more"]);
    assert_eq!(site.world.show("new")["state"], "running");
    site.let_go("new");
    site.assert_exact("new");
}

fn a_renamed_container_still_has_its_jobs(kind: Kind) {
    let site = Site::with(kind, &[]);
    site.start("old", &[]);
    site.engine.ok(&["rename", BOX, "other"]);
    site.world.kill_couriers();
    site.assert_unreachable("old", &["has no container \"box\""]);
    site.begin(&[]);
    site.assert_unreachable("old", &["another home answers", "still exists"]);
    assert!(site.refusal().contains("another home answers"));
    site.engine.remove("other");
    site.assert_lost("old", &["exists no more"]);
    site.start("new", &[]);
    site.let_go("new");
    site.assert_exact("new");
}

fn another_engine_says_nothing_about_jobs(kind: Kind) {
    let mut site = Site::with(kind, &[]);
    site.start("job", &[]);
    let other = Engine::start(kind, &site.world.path("other")).unwrap();
    for (name, value) in other.variables() {
        site.world.set(name, value);
    }
    site.world.kill_couriers();
    site.assert_unreachable("job", &["has no container"]);
    other.begin(BOX, &[]);
    site.assert_unreachable("job", &["another home answers", "another engine"]);
    for (name, value) in site.engine.variables() {
        site.world.set(name, value);
    }
    site.world.kill_couriers();
    assert_eq!(site.world.show("job")["state"], "running");
    site.let_go("job");
    site.assert_exact("job");
}

/// Its journal tells how it ended, whatever became of the container.
fn a_home_on_a_volume_outlives_its_container(kind: Kind) {
    let mut site = Site::empty(kind);
    let disk = site.world.path("disk");
    fs::create_dir(&disk).unwrap();
    let volume = format!("{}:/data", disk.display());
    let options = ["--volume", volume.as_str()];
    site.begin(&options);
    site.configure("home = \"/data/home\"");
    for (id, more) in [("job", &[][..]), ("terminal", &["--pty"])] {
        site.start(id, more);
    }
    site.engine.remove(BOX);
    site.begin(&options);
    for id in ["job", "terminal"] {
        let job = site.world.wait(id);
        assert_eq!(job["outcome"]["kind"], "lost", "{job}");
        // Its output is still there.
        let log = site.world.ok(&["log", id, "--peek", "--lines", "1"]);
        assert_eq!(log.trim(), "1000");
    }
    let mut told = site.told();
    told.sort();
    assert_eq!(told, ["job ended lost", "terminal ended lost"]);
}

fn what_is_not_there_is_named(kind: Kind) {
    let mut site = Site::empty(kind);
    let refusal = site.refusal();
    assert!(refusal.contains("has no container \"box\""), "{refusal}");
    site.engine
        .run(
            BOX,
            &[],
            outlive_testkit::places::image::Image::Usual,
            &["true"],
        )
        .unwrap();
    assert!(site.refusal().contains("the container is stopped"));
    site.world.kill_couriers();
    site.world.set("PATH", "/nowhere");
    let refusal = site.refusal();
    let words = format!("there is no program {:?} here; install", kind.as_str());
    assert!(refusal.contains(&words), "{refusal}");
}
