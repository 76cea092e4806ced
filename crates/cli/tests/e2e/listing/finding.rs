//! Finding a job by its ID, the beginning of its ID, or its name.

use super::ended;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::sleeper;
use outlive_testkit::world::World;

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

/// Two sessions may use the same name. In each of them it means that session's own job.
#[test]
fn a_name_means_the_job_of_the_callers_session_first() {
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

/// Outside every session the name of a session's job finds nothing, but the error tells its ID.
#[test]
fn a_name_of_an_ended_job_of_a_session_leads_to_its_id() {
    let world = World::new();
    ended(&world, &["--session", "s", "--name", "pj", "--id", "older"]);
    ended(&world, &["--session", "s", "--name", "pj", "--id", "newer"]);
    for verb in ["show", "stop", "log"] {
        let ran = world.outlive(&[verb, "pj"]);
        assert_eq!(ran.code, 3, "{ran:?}");
        let words = "no job \"pj\" outside a session; a session has one: newer; use its id";
        assert!(ran.stderr.contains(words), "{ran:?}");
    }
    // Another session does not learn of the job.
    let ran = world.as_session("t", &["show", "pj"]);
    assert!(!ran.stderr.contains("newer"), "{ran:?}");
}

/// The command that the error names really lists all jobs.
#[test]
fn no_such_job_says_how_to_list_all() {
    let world = World::new();
    let ran = world.outlive(&["show", "none"]);
    let words = "`outlive list --limit all` shows every job";
    assert!(ran.stderr.contains(words), "{ran:?}");
    for _ in 0..21 {
        ended(&world, &[]);
    }
    assert_eq!(world.listed(&[]).len(), 20);
    assert_eq!(world.listed(&["--limit", "all"]).len(), 21);
    let ran = world.outlive(&["list", "--limit", "some"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("a number, or `all`"), "{ran:?}");
}
