//! The limit on matches of one job, and when its watch turns itself off.

use super::{SESSION, inbox, inbox_of, matches, run, world};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;

const SPACED: &str =
    "[watch]\nspacing = \"300ms\"\nstrikes = 3\nstill = \"100ms\"\n[breaker]\nmost = 100000\n";

/// The times of the events of this kind in the journal, in milliseconds since boot.
fn moments(world: &World, id: &str, kind: &str) -> Vec<u64> {
    let journal = world.journal(id);
    let of_kind = journal
        .iter()
        .filter(|record| record["event"].get(kind).is_some());
    of_kind
        .map(|record| record["at"]["boot_ms"].as_u64().unwrap())
        .collect()
}

#[test]
fn matches_within_a_spacing_are_counted_and_told_after_it() {
    let world = world(SPACED);
    // The job writes no more but still runs. The counted matches must be told anyway.
    let id = run(
        &world,
        &["--watch", "n"],
        "for n in {1..20}; do echo n $n; done; exec sleep 60",
    );
    until("all are told", || matches(&world, &id) == 20);
    assert_eq!(world.show(&id)["state"], "running");
    let told = world.events(&id, "matched");
    assert_eq!(told[0]["count"], 1);
    assert_eq!(told[0]["last"]["text"], "n 1");
    assert_eq!(
        (told.len(), &told[1]["last"]["text"]),
        (2, &Value::from("n 20"))
    );
    let moments = moments(&world, &id, "matched");
    let between = moments[1] - moments[0];
    assert!((270..2000).contains(&between), "{between} ms");
    let heard = inbox_of(&world, "matched");
    let counts: Vec<_> = heard
        .iter()
        .map(|event| event["data"]["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [1, 19]);
    assert_eq!(heard[1]["data"]["line"], "n 20");
}

#[test]
fn a_watch_with_rare_bursts_is_never_turned_off() {
    let world = world(SPACED);
    // Each match comes after the spacing of the one before, so no spacing is busy.
    let id = run(
        &world,
        &["--watch", "n"],
        "for n in {1..6}; do echo n $n; sleep 0.4; done",
    );
    world.wait(&id);
    assert_eq!(super::told(&world, &id).len(), 6);
}

#[test]
fn told_and_counted_matches_add_up_to_all() {
    let world = world("[watch]\nspacing = \"40ms\"\nstrikes = 1000\n[breaker]\nmost = 100000\n");
    let id = run(
        &world,
        &["--watch", "n"],
        "for n in {1..300}; do echo n $n; sleep 0.002; done",
    );
    world.wait(&id);
    assert_eq!(matches(&world, &id), 300);
    let moments = moments(&world, &id, "matched");
    assert!(moments.len() > 5, "{moments:?}");
    // The last event comes early, because the job ends.
    for pair in moments[..moments.len() - 1].windows(2) {
        assert!(pair[1] - pair[0] >= 25, "{moments:?}");
    }
}

/// A watch that is busy the whole time.
fn flood(world: &World, options: &[&str]) -> String {
    let script = "until [ -e \"$GO\" ]; do echo n; sleep 0.01; done; exit 7";
    let id = run(world, &[options, &["--watch", "n"]].concat(), script);
    until("the watch is off", || {
        !world.events(&id, "watch_disabled").is_empty()
    });
    id
}

#[test]
fn three_busy_spacings_turn_a_watch_off() {
    let world = world(SPACED);
    let id = flood(&world, &[]);
    let_go(&world);
    world.wait(&id);
    let told = world.events(&id, "matched");
    assert_eq!(
        told.len(),
        3,
        "the first, and one after each of two busy spacings"
    );
    let off = &world.events(&id, "watch_disabled")[0];
    let (seen, untold) = (
        off["matches"].as_u64().unwrap(),
        off["untold"].as_u64().unwrap(),
    );
    assert!(untold > 0, "{off}");
    assert_eq!(matches(&world, &id) + untold, seen, "{off}");
    assert_eq!(world.events(&id, "watch_disabled").len(), 1);
    let moments = moments(&world, &id, "watch_disabled");
    let first = world.boot_ms(&id, "matched");
    assert!(moments[0] - first >= 850, "{}", moments[0] - first);
}

#[test]
fn a_watch_that_is_off_promises_the_end_whatever_was_asked() {
    for notify in ["never", "failure", "end"] {
        let world = world(SPACED);
        let id = flood(&world, &["--notify", notify]);
        let off = inbox_of(&world, "watch_disabled");
        assert_eq!(off.len(), 1, "{off:?}");
        assert!(
            off[0]["text"]
                .as_str()
                .unwrap()
                .contains("will be told when the job ends"),
            "{off:?}"
        );
        let_go(&world);
        until("the end is told", || inbox_of(&world, "ended").len() == 1);
        assert_eq!(inbox_of(&world, "ended")[0]["job"], id.as_str());
    }
}

#[test]
fn a_watch_that_is_not_off_promises_nothing() {
    let world = world(SPACED);
    let script = format!("echo n; {WAITS} exit 7");
    let id = run(&world, &["--notify", "never", "--watch", "n"], &script);
    let_go(&world);
    until("it is over", || world.live(&id).symlink_metadata().is_err());
    let kinds: Vec<_> = inbox(&world, SESSION)
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    assert_eq!(kinds, ["matched"]);
}

#[test]
fn a_pause_forgives_the_busy_spacings_before_it() {
    let world = world(SPACED);
    // Two busy spacings, twice, with a quiet spacing between them.
    let busy = "echo n; echo n; sleep 0.35; echo n";
    let script = format!("{busy}; sleep 0.8; {busy}; sleep 0.8");
    let id = run(&world, &["--watch", "n"], &script);
    world.wait(&id);
    assert_eq!(world.events(&id, "watch_disabled"), [Value::Null; 0]);
    assert_eq!(matches(&world, &id), 6);
}

#[test]
fn wait_for_match_returns_with_a_match_and_not_with_one_told_before() {
    let world = world(SPACED);
    let id = run(
        &world,
        &["--watch", "n"],
        &format!("echo n 1; {WAITS} echo n 2; exec sleep 60"),
    );
    let wait = |limit| {
        let args = ["wait", &id, "--for", "match", "--timeout", limit];
        world.as_session(SESSION, &args).code
    };
    assert_eq!(wait("10s"), 0);
    assert_eq!(wait("300ms"), 124);
    let_go(&world);
    assert_eq!(wait("10s"), 0);
    assert_eq!(inbox_of(&world, "matched").len(), 0, "who waited was told");
}
