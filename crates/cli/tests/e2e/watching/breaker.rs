//! The breaker across the jobs of a session.

use super::{SESSION, inbox, world};
use crate::scripts::{Gate, let_go, ok};
use crate::world::{World, until};
use serde_json::Value;

const TIGHT: &str =
    "[watch]\nspacing = \"0ms\"\n[breaker]\nmost = 3\nwindow = \"2s\"\nsilence = \"1s\"\n";

/// A job of a session that matches once the gate is open, and goes on.
fn matching(world: &World, gate: &Gate, session: &str, lines: u32) -> String {
    let script = gate.then(&format!(
        "for n in $(seq {lines}); do echo match; done; exec sleep 60"
    ));
    ok(
        world,
        &[
            "run",
            "--session",
            session,
            "--watch",
            "match",
            "--shell",
            &script,
        ],
    )
}

fn all(world: &World, ids: &[String], kind: &str) -> Vec<Value> {
    ids.iter().flat_map(|id| world.events(id, kind)).collect()
}

fn sum(events: &[Value], key: &str) -> u64 {
    events
        .iter()
        .map(|event| event[key].as_u64().unwrap())
        .sum()
}

#[test]
fn too_much_of_a_session_is_followed_by_silence_and_its_count() {
    let world = world(TIGHT);
    let gate = Gate::new(&world);
    let ids: Vec<String> = (0..8)
        .map(|_| matching(&world, &gate, SESSION, 1))
        .collect();
    gate.open();
    until("the silence is over", || {
        !all(&world, &ids, "watch_resumed").is_empty()
    });
    let told = all(&world, &ids, "matched");
    assert_eq!(told.len(), 3, "{told:?}");
    let overflow = all(&world, &ids, "watch_overflow");
    assert_eq!(overflow.len(), 1, "{overflow:?}");
    assert_eq!(overflow[0]["silence_ms"], 1000);
    let resumed = all(&world, &ids, "watch_resumed");
    assert_eq!(resumed.len(), 1, "{resumed:?}");
    assert_eq!(
        sum(&told, "count") + sum(&resumed, "silenced"),
        8,
        "told and silenced is all"
    );
    let kinds: Vec<_> = inbox(&world, SESSION)
        .iter()
        .map(|event| event["kind"].clone())
        .collect();
    let count = |kind: &str| kinds.iter().filter(|other| **other == kind).count();
    assert_eq!(
        (
            count("matched"),
            count("watch_overflow"),
            count("watch_resumed")
        ),
        (3, 1, 1),
        "{kinds:?}"
    );
}

/// All matches of a silence are counted, also those that one event would have told of together.
#[test]
fn the_count_is_of_matches_and_not_of_events() {
    let world = world(
        "[watch]\nspacing = \"100ms\"\nstrikes = 1000\n[breaker]\nmost = 1\nwindow = \"2s\"\nsilence = \"1s\"\n",
    );
    let id = ok(
        &world,
        &[
            "run",
            "--session",
            SESSION,
            "--watch",
            "match",
            "--shell",
            "for n in {1..40}; do echo match; done; exec sleep 60",
        ],
    );
    until("the silence is over", || {
        !world.events(&id, "watch_resumed").is_empty()
    });
    let silenced = sum(&world.events(&id, "watch_resumed"), "silenced");
    assert_eq!((super::matches(&world, &id), silenced), (1, 39));
}

#[test]
fn another_session_is_not_silenced() {
    let world = world(TIGHT);
    let gate = Gate::new(&world);
    let ids: Vec<String> = (0..6)
        .map(|_| matching(&world, &gate, SESSION, 1))
        .collect();
    gate.open();
    until("there is silence", || {
        !all(&world, &ids, "watch_overflow").is_empty()
    });
    let others: Vec<String> = (0..3)
        .map(|_| {
            ok(
                &world,
                &[
                    "run",
                    "--session",
                    "another",
                    "--watch",
                    "match",
                    "--shell",
                    "echo match; exec sleep 60",
                ],
            )
        })
        .collect();
    until("the other session is told", || {
        all(&world, &others, "matched").len() == 3
    });
    assert_eq!(all(&world, &others, "watch_overflow"), [Value::Null; 0]);
    let heard = inbox(&world, "another");
    assert!(
        heard.iter().all(|event| event["kind"] == "matched"),
        "{heard:?}"
    );
}

#[test]
fn jobs_of_no_session_share_nothing() {
    let world = world(TIGHT);
    let script = "for n in 1 2 3 4 5 6; do echo match; done";
    let id = world.ok(&["run", "--watch", "match", "--shell", script]);
    world.wait(&id);
    assert_eq!(super::matches(&world, &id), 6);
}

/// A match after the silence says that it is over, once, and is told itself.
#[test]
fn the_first_match_after_a_silence_ends_it() {
    let world = world(
        "[watch]\nspacing = \"0ms\"\n[breaker]\nmost = 2\nwindow = \"10s\"\nsilence = \"500ms\"\n",
    );
    let script = "for n in 1 2 3 4; do echo match $n; done; until [ -e \"$GO\" ]; do sleep 0.02; done; echo match 5; exec sleep 60";
    let id = ok(
        &world,
        &[
            "run",
            "--session",
            SESSION,
            "--watch",
            "match",
            "--shell",
            script,
        ],
    );
    until("the silence is over", || {
        !world.events(&id, "watch_resumed").is_empty()
    });
    let_go(&world);
    until("the fifth is told", || super::matches(&world, &id) == 3);
    assert_eq!(sum(&world.events(&id, "watch_resumed"), "silenced"), 2);
    let last = world.events(&id, "matched").pop().unwrap();
    assert_eq!(last["last"]["text"], "match 5");
}

#[test]
fn the_breaker_holds_across_a_keeper_kill() {
    let world = world(TIGHT);
    for place in ["keeper:Noticed=kill", "keeper:Captured=kill"] {
        let gate = Gate::new(&world);
        let session = if place.contains("Noticed") { "a" } else { "b" };
        let script = gate.then("for n in $(seq 8); do echo match; done; exec sleep 60");
        let mut command = world.command([
            "run",
            "--session",
            session,
            "--watch",
            "match",
            "--shell",
            &script,
        ]);
        let ran = crate::world::Ran::of(command.env("OUTLIVE_HOOKS", place));
        let id = ran.stdout.trim().to_owned();
        gate.open();
        until("the silence is over", || {
            !world.events(&id, "watch_resumed").is_empty()
        });
        assert_eq!(super::matches(&world, &id), 3, "{place}");
        assert_eq!(world.events(&id, "watch_overflow").len(), 1, "{place}");
        let resumed = world.events(&id, "watch_resumed");
        assert_eq!(
            (resumed.len(), sum(&resumed, "silenced")),
            (1, 5),
            "{place}"
        );
        std::fs::remove_file(world.path("gate")).unwrap();
    }
}
