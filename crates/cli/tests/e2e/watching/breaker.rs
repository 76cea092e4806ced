//! The limit on matches across all jobs of a session.

use super::{SESSION, inbox, world};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{CONT, KILL, is_stopped, kill};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, ok, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::thread;
use std::time::Duration;

const TIGHT: &str =
    "[watch]\nspacing = \"0ms\"\n[breaker]\nmost = 3\nwindow = \"2s\"\nsilence = \"1s\"\n";

/// Starts a job of a session that prints matches once the gate is open, and then sleeps.
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
fn too_many_matches_of_a_session_are_counted_instead_of_told() {
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

/// Matches during a silence are counted one by one, even those that would have been told together.
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
fn jobs_without_a_session_do_not_share_a_limit() {
    let world = world(TIGHT);
    let script = "for n in 1 2 3 4 5 6; do echo match; done";
    let id = world.ok(&["run", "--watch", "match", "--shell", script]);
    world.wait(&id);
    assert_eq!(super::matches(&world, &id), 6);
}

/// The first match after a silence tells once that the silence is over, and is told itself.
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

/// A job that prints eight matches at once, and one more when the test lets it. Its keepers have these hooks.
fn eight_and_one(world: &World, hooks: &str) -> String {
    let script =
        format!("for n in $(seq 8); do echo match; done; {WAITS} echo match; exec sleep 60");
    let args = [
        "run",
        "--session",
        SESSION,
        "--watch",
        "match",
        "--shell",
        &script,
    ];
    let ran = Ran::of(with_go(world, &args).env("OUTLIVE_HOOKS", hooks));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim().to_owned()
}

fn assert_silence_was_told_once(world: &World, id: &str, told: u64) {
    assert_eq!(super::matches(world, id), told);
    assert_eq!(world.events(id, "watch_overflow").len(), 1);
    let resumed = world.events(id, "watch_resumed");
    assert_eq!(
        (resumed.len(), sum(&resumed, "silenced")),
        (1, 5),
        "{resumed:?}"
    );
}

#[test]
fn the_breaker_holds_across_a_keeper_kill() {
    let hooks = ["keeper:Noticed=kill", "keeper:Captured=kill"];
    every(&hooks, ToString::to_string, |hooks| {
        let world = world(TIGHT);
        let id = eight_and_one(&world, hooks);
        until("the silence is over", || {
            !world.events(&id, "watch_resumed").is_empty()
        });
        assert_silence_was_told_once(&world, &id, 3);
    });
}

/// Kills the keeper once the event is in the journal, before the keeper does anything else.
fn kill_once_told(world: &World, id: &str, kind: &str) {
    let keeper = world.pair(id).keeper;
    until("it is told", || {
        if !is_stopped(keeper) {
            return false;
        }
        let told = !world.events(id, kind).is_empty();
        kill(keeper, if told { KILL } else { CONT });
        told
    });
    until("there is an heir", || keepings(world, id).len() == 2);
}

#[test]
fn the_end_of_a_silence_is_told_once_though_the_keeper_is_killed() {
    let world = world(TIGHT);
    let id = eight_and_one(&world, "keeper:Noticed=stop");
    kill_once_told(&world, &id, "watch_resumed");
    let_go(&world);
    until("the heir goes on", || super::matches(&world, &id) == 4);
    assert_silence_was_told_once(&world, &id, 4);
}

/// The match that ends the silence and the end of the silence are recorded together, or not at all.
#[test]
fn a_match_that_ends_a_silence_is_told_once_though_the_keeper_is_killed() {
    let world = world(TIGHT);
    // The keeper is suspended during the silence, so that it cannot record the end of the silence itself.
    let id = eight_and_one(&world, "keeper:Noticed=stop");
    let keeper = world.pair(&id).keeper;
    until("there is silence", || {
        let silent = !world.events(&id, "watch_overflow").is_empty();
        if is_stopped(keeper) && !silent {
            kill(keeper, CONT);
        }
        silent && is_stopped(keeper)
    });
    let_go(&world);
    // Not a wait: the silence must be over before the keeper continues.
    thread::sleep(Duration::from_millis(1100));
    kill(keeper, CONT);
    kill_once_told(&world, &id, "watch_resumed");
    until("all are told", || super::matches(&world, &id) == 4);
    world.ok(&["stop", &id]);
    assert_silence_was_told_once(&world, &id, 4);
}
