//! How many calls a verb takes. Calls cost time, and at some services money.

use super::{at, start};
use outlive_testkit::places::OneShot;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How many calls this takes, which leaves nobody waiting.
fn calls_of(place: &OneShot, scratch: &Path, act: impl FnOnce()) -> u64 {
    let before = place.calls(scratch);
    act();
    place.calls(scratch) - before
}

/// A place whose program is there. A verb has been used, and so there is a tunnel.
fn warm(place: OneShot) -> (std::sync::Arc<OneShot>, World) {
    let (place, world) = at(place);
    world.ok(&["place", "check", "box"]);
    (place, world)
}

#[test]
fn a_verb_at_a_warm_place_takes_one_call() {
    let (place, world) = warm(OneShot::plain());
    let scratch = world.path_there("");
    let count = |most: u64, args: &[&str]| {
        let calls = calls_of(&place, &scratch, || drop(world.outlive(args)));
        assert!(
            calls <= most,
            "{args:?} took {calls} calls, {most} are enough"
        );
    };
    count(1, &["run", "--id", "a", "--", "sh", "-c", "seq 1 1000"]);
    count(1, &["run", "--id", "b", "--stdin", "pipe", "--", "cat"]);
    count(3, &["show", "b"]);
    count(1, &["list"]);
    count(2, &["send", "b", "hello", "--enter"]);
    count(2, &["wait", "a"]);
    count(2, &["log", "a"]);
    count(4, &["log", "b"]);
    count(2, &["stop", "b"]);
    count(0, &["wait", "a"]);
    count(2, &["show", "a"]);
    count(0, &["list"]);
}

#[test]
fn a_first_contact_takes_few_calls() {
    let (place, world) = warm(OneShot::plain());
    let scratch = world.path_there("");
    let again = calls_of(&place, &scratch, || {
        world.kill_couriers();
        world.kill_far_ends();
        world.ok(&["run", "--id", "a", "--", "true"]);
    });
    // Of which one tells the far end that was killed that its wire is over.
    assert!(again <= 3, "{again} calls");
}

#[test]
fn while_nobody_waits_there_are_no_calls() {
    let (place, world) = warm(OneShot::plain());
    let scratch = world.path_there("");
    start(&world, "job", "sleep 0.2; echo news; exec sleep 60");
    thread::sleep(Duration::from_millis(200));
    let calls = calls_of(&place, &scratch, || thread::sleep(Duration::from_secs(2)));
    assert_eq!(calls, 0);
    assert_eq!(world.ok(&["log", "job"]), "news");
}

#[test]
fn who_waits_takes_one_call_until_there_is_news() {
    let (place, world) = warm(OneShot::plain());
    let scratch = world.path_there("");
    let go = world.path_there("go");
    let wait = format!("until [ -e '{}' ]; do sleep 0.02; done", go.display());
    start(&world, "job", &format!("{wait}; exit 7"));
    let mut returned = None;
    let calls = calls_of(&place, &scratch, || {
        let waiter = begin(world.command(["wait", "job"]));
        thread::sleep(Duration::from_secs(2));
        world.place().write(&go, b"").unwrap();
        let begun = Instant::now();
        returned = Some((Ran::end_of(waiter).code, begun.elapsed()));
    });
    let (code, after) = returned.unwrap();
    assert_eq!(code, 7);
    assert!(after < Duration::from_secs(5), "{after:?}");
    assert!(calls <= 4, "{calls} calls");
}

#[test]
fn where_calls_cost_money_news_comes_with_the_next_verb() {
    let settings = "secrets = \"argv\"\nlisten = false";
    let (place, world) = warm(OneShot::plain().configured(settings));
    let scratch = world.path_there("");
    start(&world, "job", "cat; exit 7");
    let waiter = begin(world.command(["wait", "job"]));
    thread::sleep(Duration::from_secs(1));
    let calls = calls_of(&place, &scratch, || thread::sleep(Duration::from_secs(1)));
    assert_eq!(calls, 0);
    world.ok(&["send", "job", "x", "--eof"]);
    until("the next verb brings the news", || {
        world.show("job")["state"] == "ended"
    });
    assert_eq!(Ran::end_of(waiter).code, 7);
}
