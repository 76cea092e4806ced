//! `--name` and `--replace`: which job a name means, and when it is free.

use crate::verbs::error_of;
use outlive_testkit::checks::{exited, signaled};
use outlive_testkit::processes::kill;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{over, sleeper};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

fn named(world: &World, session: Option<&str>, name: &str) -> String {
    let session = session.map_or(Vec::new(), |session| vec!["--session", session]);
    sleeper(world, &[&["--name", name], &session[..]].concat())
}

#[test]
fn a_name_means_the_running_job() {
    let world = World::new();
    let first = over(&world, &["--name", "web", "--", "true"]);
    let second = named(&world, None, "web");
    assert_eq!(world.json(&["show", "web", "--json"])["id"], json!(second));
    let refused = world.outlive(&["run", "--name", "web", "--json", "--", "true"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert_eq!(error_of(&refused)["code"], "name_taken");
    assert_eq!(error_of(&refused)["job"]["id"], json!(second));
    world.ok(&["stop", "web"]);
    assert_eq!(world.show(&first)["outcome"], exited(0));
    // No job of this name runs now, so the name means the newest ended one.
    assert_eq!(world.json(&["show", "web", "--json"])["id"], json!(second));
}

#[test]
fn a_running_job_is_replaced_only_with_replace() {
    let world = World::new();
    let first = named(&world, None, "web");
    let second = world.ok(&["run", "--name", "web", "--replace", "--", "sleep", "60"]);
    let shown = world.show(&first);
    assert_eq!(shown["outcome"], signaled("SIGTERM"));
    assert_eq!(
        shown["ended_by_detail"],
        json!(format!("its successor {second}"))
    );
    assert_eq!(world.show(&second)["state"], "running");
    // Without a job of this name, `--replace` has nothing to do.
    world.ok(&["run", "--name", "other", "--replace", "--", "true"]);
}

#[test]
fn two_sessions_can_use_the_same_name() {
    let world = World::new();
    let (mine, yours) = (
        named(&world, Some("me"), "web"),
        named(&world, Some("you"), "web"),
    );
    let nobodys = named(&world, None, "web");
    for (session, id) in [("me", &mine), ("you", &yours)] {
        let ran = world.as_session(session, &["show", "web", "--json"]);
        let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(shown["id"], json!(id));
    }
    assert_eq!(world.json(&["show", "web", "--json"])["id"], json!(nobodys));
    assert_eq!(world.as_session("third", &["stop", "web"]).code, 3);
    world.ok(&["stop", &nobodys]);
    world.ok(&["prune", "--all"]);
    // Outside every session the name finds nothing, but the error lists the jobs with this name.
    let ran = world.outlive(&["stop", "web"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.contains(&mine) && ran.stderr.contains(&yours),
        "{ran:?}"
    );
    assert_eq!(world.show(&mine)["state"], "running");
}

#[test]
fn one_of_many_concurrent_starts_gets_the_name() {
    let world = World::new();
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let mut start = world.command(["run", "--name", "one", "--", "sleep", "60"]);
            let piped = std::process::Stdio::piped;
            start.stdout(piped()).stderr(piped()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<i32> = starts
        .into_iter()
        .map(|start| Ran::end_of(start).code)
        .collect();
    assert_eq!(
        codes.iter().filter(|code| **code == 0).count(),
        1,
        "{codes:?}"
    );
    assert_eq!(world.listed(&["--state", "running"]).len(), 1);
}

/// The first start stops the old job slowly. Meanwhile the second start finds the first one's job under the name.
#[test]
fn a_start_that_is_repeated_does_not_replace_itself() {
    let world = World::new();
    let script = "trap '' TERM; echo up; exec sleep 60";
    let old =
        outlive_testkit::scripts::started(&world, &["--name", "web", "--grace", "700ms"], script);
    let args = [
        "run",
        "--id",
        "new",
        "--name",
        "web",
        "--replace",
        "--",
        "sleep",
        "60",
    ];
    let begin = || outlive_testkit::processes::begin(world.command(args));
    let starts = [begin(), begin()];
    let mut codes = starts.map(|start| Ran::end_of(start).code);
    codes.sort();
    assert_eq!(codes, [0, 125]);
    assert_eq!(world.show(&old)["state"], "ended");
    assert_eq!(world.show("new")["state"], "running");
}

#[test]
fn a_name_is_free_once_its_job_was_lost() {
    let world = World::new();
    let old = named(&world, None, "web");
    world.kill_both(&old);
    kill(world.leader(&old), 9);
    until("it is gone", || world.processes().is_empty());
    let new = named(&world, None, "web");
    assert_eq!(world.json(&["show", "web", "--json"])["id"], json!(new));
}
