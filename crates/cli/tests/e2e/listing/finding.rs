//! Finding one job.

use super::ended;
use crate::scripts::sleeper;
use crate::world::{Ran, World};

#[test]
fn an_id_its_unique_beginning_and_a_name_find_a_job() {
    let world = World::new();
    let one = ended(&world, &["--id", "apple-pie", "--name", "dessert"]);
    let two = ended(&world, &["--id", "apple-tart"]);
    let exact = ended(&world, &["--id", "app"]);
    let found = |text: &str| world.show(text)["id"].as_str().unwrap().to_owned();
    assert_eq!(found("apple-pie"), one);
    assert_eq!(found("apple-p"), one);
    assert_eq!(found("dessert"), one);
    assert_eq!(found("apple-t"), two);
    assert_eq!(found("app"), exact, "a whole id is no beginning of others");
    for (text, words) in [
        ("apple", "apple-pie, apple-tart"),
        ("pear", "pear"),
        ("../jobs/app", "no job"),
    ] {
        let ran = world.outlive(&["show", text]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
}

#[test]
fn a_name_means_the_newest_job_that_has_it() {
    let world = World::new();
    let old = ended(&world, &["--name", "dev"]);
    let new = sleeper(&world, &["--name", "dev"]);
    assert_eq!(world.show("dev")["id"], new.as_str());
    assert_eq!(world.show(&old)["name"], "dev");
}

/// Two conversations may give the same name; each means its own job by it.
#[test]
fn a_name_is_the_callers_own_job_where_it_has_one() {
    let world = World::new();
    let start = |session: &str, id: &str| {
        world.ok(&[
            "run",
            "--session",
            session,
            "--name",
            "build",
            "--id",
            id,
            "--",
            "sleep",
            "60",
        ]);
    };
    start("a", "mine");
    start("b", "other");
    let shown = |session: &str| {
        let ran = world.as_session(session, &["show", "build", "--json"]);
        let job: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        job["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(shown("a"), "mine");
    assert_eq!(shown("b"), "other");
    assert_eq!(world.as_session("c", &["show", "build"]).code, 3);
    assert_eq!(world.outlive(&["show", "build"]).code, 3);
    let ran = Ran::of(world.command(["stop", "build"]).env("OUTLIVE_SESSION", "a"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.show("mine")["state"], "ended");
    assert_eq!(world.show("other")["state"], "running");
    world.ok(&["stop", "other"]);
}
