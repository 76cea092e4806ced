//! A keeper is killed while it changes a watch or labels: the change is made once, whoever answers.

use super::{run, told, until_told, waiting, world};
use outlive_testkit::checks::{every, keepings, until_wrote};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, with_go};
use outlive_testkit::world::World;
use serde_json::json;

/// A job that has printed a line and prints two more when it is let go, with this hook for its keeper.
fn start(world: &World, hooks: &str) -> String {
    let script = format!("echo ERROR before; {WAITS} echo ERROR after; echo old; exec sleep 60");
    let args = [
        "run",
        "--session",
        super::SESSION,
        "--watch",
        "old",
        "--shell",
        &script,
    ];
    let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.text();
    until_wrote(world, &id, "ERROR before\n");
    id
}

const KILLS: [(&str, &[&str]); 5] = [
    ("keeper:ChangeAsked=kill", &["launched", "taken_over"]),
    ("keeper:ChangeWritten=kill", &["launched", "taken_over"]),
    ("keeper:ChangeAsked=kill-both", &["launched", "adopted"]),
    ("keeper:ChangeWritten=kill-both", &["launched", "adopted"]),
    (
        "keeper:ChangeAsked=kill,heir:ChangeWritten=kill",
        &["launched", "taken_over", "taken_over"],
    ),
];

#[test]
fn a_watch_is_changed_once_whoever_is_killed_meanwhile() {
    every(
        &KILLS,
        |(hooks, _)| (*hooks).to_owned(),
        |(hooks, kept)| {
            let world = world();
            let id = start(&world, hooks);
            world.ok(&["watch", &id, "ERROR", "--look-back", "--notify", "failure"]);
            assert_eq!(keepings(&world, &id), *kept);
            assert_eq!(world.events(&id, "changed").len(), 1);
            assert_eq!(told(&world, &id), ["ERROR before"]);
            let_go(&world);
            until_told(&world, &id, &["ERROR before", "ERROR after", "old"]);
            assert_eq!(world.show(&id)["notify"], "failure");
            let matched = waiting(&world, "matched");
            assert_eq!(matched[0]["data"]["looked_back"], true, "{matched:?}");
        },
    );
}

#[test]
fn labels_are_changed_once_whoever_is_killed_meanwhile() {
    every(
        &KILLS,
        |(hooks, _)| (*hooks).to_owned(),
        |(hooks, kept)| {
            let world = world();
            let id = start(&world, hooks);
            world.ok(&["label", &id, "a=1", "b=2"]);
            assert_eq!(keepings(&world, &id), *kept);
            assert_eq!(world.events(&id, "changed").len(), 1);
            assert_eq!(world.show(&id)["labels"], json!({"a": "1", "b": "2"}));
        },
    );
}

/// A client that is killed leaves either the old labels or the new ones, and the job as it was.
#[test]
fn a_client_that_is_killed_leaves_a_job_that_can_be_changed_again() {
    let world = world();
    let id = run(&world, &["--label", "a=1"], "sleep 60");
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0);
    world.until_over(&id);
    let before = world.journal(&id).len();
    let journal = world.job_dir(&id).join("journal");
    // As a client that was killed in the middle of its write leaves it.
    let mut bytes = std::fs::read(&journal).unwrap();
    bytes.extend_from_slice(b"{\"v\":1,\"seq\":99,\"at\":{\"wall");
    std::fs::write(&journal, bytes).unwrap();
    world.ok(&["label", &id, "a=2"]);
    assert_eq!(world.show(&id)["labels"], json!({"a": "2"}));
    assert_eq!(world.show(&id)["state"], "ended");
    assert_eq!(world.journal(&id).len(), before + 1);
}
