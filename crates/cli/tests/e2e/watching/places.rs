//! No match is missed or told twice, whichever keeper is killed.

use super::{EVERY_MATCH, SESSION, inbox_of, matches, world};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::processes::{CONT, KILL, is_alive, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{go, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::thread;
use std::time::Duration;

const LINES: u64 = 60;

/// Prints numbered matches among other lines, some of them in two pieces.
const NUMBERED: &str = "for n in {1..60}; do echo other; printf 'ma'; [ $((n % 7)) = 0 ] && sleep 0.005; echo \"tch $n\"; done";

fn start(world: &World, hooks: &str, script: &str) -> String {
    let mut command = world.command([
        "run",
        "--session",
        SESSION,
        "--watch",
        "match",
        "--shell",
        script,
    ]);
    command.env("GO", go(world)).env("OUTLIVE_HOOKS", hooks);
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim().to_owned()
}

/// Checks that each number is told once, in order, and that the session has exactly these events.
fn assert_each_told_once(world: &World, id: &str, lines: u64) {
    let numbers: Vec<u64> = super::told(world, id)
        .iter()
        .map(|text| text.strip_prefix("match ").unwrap().parse().unwrap())
        .collect();
    assert_eq!(numbers, (1..=lines).collect::<Vec<_>>());
    assert_eq!(inbox_of(world, "matched").len() as u64, lines);
}

fn kills_at(hooks: &'static [&'static str], taken_over: bool) {
    every(hooks, ToString::to_string, |hooks| {
        let world = world(EVERY_MATCH);
        let id = start(&world, hooks, NUMBERED);
        world.wait(&id);
        assert_each_told_once(&world, &id, LINES);
        assert_eq!(
            keepings(&world, &id).len() > 1,
            taken_over,
            "{:?}",
            keepings(&world, &id)
        );
    });
}

#[test]
fn a_keeper_killed_at_a_match_misses_and_repeats_no_match() {
    kills_at(
        &[
            "keeper:Noticed=kill",
            "keeper:Captured=kill",
            "keeper:Drained=kill",
            "keeper:OutputSynced=kill",
            "keeper:EndedRecorded=kill",
        ],
        true,
    );
}

#[test]
fn without_a_kill_every_match_is_told_once() {
    kills_at(&["keeper:Nowhere=kill"], false);
}

/// Each keeper that takes over is killed at the same step, after it told one more match or none.
#[test]
fn killing_each_keeper_that_takes_over_misses_and_repeats_no_match() {
    let cells = [
        "keeper:Noticed=kill-both",
        "keeper:Noticed=kill,heir:Noticed=kill",
        "keeper:Captured=kill,heir:Noticed=kill",
    ];
    every(&cells, ToString::to_string, |hooks| {
        let world = world(EVERY_MATCH);
        let script = "until [ -e \"$GO\" ]; do sleep 0.02; done; for n in 1 2 3 4 5 6; do echo match $n; done; exec sleep 60";
        let id = start(&world, hooks, script);
        let_go(&world);
        // A new pair gets the hooks of the client that starts it. The client below has none, so wait for the kills
        // first.
        until("both are gone", || {
            let pair = world.pair(&id);
            !is_alive(pair.keeper) && pair.standby.is_none_or(|pid| !is_alive(pid))
        });
        until("all are told", || {
            world.show(&id);
            matches(&world, &id) >= 6
        });
        assert!(
            keepings(&world, &id).contains(&"adopted".to_owned()),
            "{:?}",
            keepings(&world, &id)
        );
        assert_each_told_once(&world, &id, 6);
        world.ok(&["stop", &id]);
        assert_each_told_once(&world, &id, 6);
    });
}

fn random(below: u64) -> u64 {
    let mut bytes = [0; 8];
    std::io::Read::read_exact(
        &mut std::fs::File::open("/dev/urandom").unwrap(),
        &mut bytes,
    )
    .unwrap();
    u64::from_le_bytes(bytes) % below
}

#[test]
fn a_keeper_killed_at_random_misses_and_repeats_no_match() {
    let rounds: Vec<usize> = (0..20).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = world(EVERY_MATCH);
            let id = start(&world, "", NUMBERED);
            let keeper = world.pair(&id).keeper;
            let micros = random(120_000);
            thread::sleep(Duration::from_micros(micros));
            kill(keeper, KILL);
            world.wait(&id);
            assert_each_told_once(&world, &id, LINES);
        },
    );
}

#[test]
fn killing_both_keepers_again_and_again_misses_and_repeats_no_match() {
    let rounds: Vec<usize> = (0..6).collect();
    every(
        &rounds,
        |round| format!("round {round}"),
        |_| {
            let world = world(EVERY_MATCH);
            let script = "for n in {1..150}; do echo match $n; sleep 0.005; done; until [ -e \"$GO\" ]; do sleep 0.02; done";
            let id = start(&world, "", script);
            for _ in 0..5 {
                thread::sleep(Duration::from_millis(20 + random(60)));
                world.kill_both(&id);
                // This adopts the job.
                world.show(&id);
            }
            until("all are told", || matches(&world, &id) >= 150);
            let_go(&world);
            world.wait(&id);
            assert_eq!(keepings(&world, &id).len(), 6);
            assert_each_told_once(&world, &id, 150);
        },
    );
}

/// The time of the end is taken when the job ends. Matches in the last output are recorded later, and still come
/// before the end.
#[test]
fn a_match_before_the_end_is_told_before_the_end() {
    let world = world("");
    let script = "echo match 1; echo match 2; exit 3";
    let id = start(&world, "keeper:Drained=stop", script);
    let keeper = world.until_keeper_stops(&id);
    // Longer than a millisecond, so that the times differ.
    thread::sleep(Duration::from_millis(5));
    kill(keeper, CONT);
    world.until_over(&id);
    let kinds = |event: &serde_json::Value| event["kind"].as_str().unwrap().to_owned();
    let told: Vec<String> = super::inbox(&world, SESSION).iter().map(kinds).collect();
    assert_eq!(told, ["matched", "matched", "ended"]);
}

/// Matches that were counted but not yet told are not lost with their keeper.
#[test]
fn a_count_survives_its_keeper() {
    let world = world("[watch]\nspacing = \"1s\"\nstrikes = 100\n");
    let script = "for n in {1..9}; do echo match $n; done; exec sleep 60";
    let id = start(&world, "", script);
    until("the first is told", || matches(&world, &id) == 1);
    until("the others are counted", || {
        let saved = std::fs::read_to_string(world.job_dir(&id).join("watch")).unwrap();
        saved.contains("match 9")
    });
    kill_for_good(world.pair(&id).keeper);
    until("all are told", || matches(&world, &id) == 9);
    assert_eq!(world.events(&id, "matched").len(), 2);
    // The same after an adoption by a new pair.
    let other = start(&world, "", script);
    until("the others are counted", || {
        let saved = std::fs::read_to_string(world.job_dir(&other).join("watch"));
        saved.is_ok_and(|saved| saved.contains("match 9"))
    });
    world.kill_both(&other);
    world.show(&other);
    until("all are told", || matches(&world, &other) == 9);
}

/// The counted lines are in the middle of the output that was dropped, so no keeper can read them again.
#[test]
fn a_count_survives_its_keeper_and_the_lines_it_is_of() {
    let world = world("[watch]\nspacing = \"1m\"\n");
    let flood = "head -c 4000000 /dev/zero | tr '\\0' x; echo";
    let script = format!(
        "echo match 1; {flood}; echo match 2; echo match 3; {flood}; echo over; until [ -e \"$GO\" ]; do sleep 0.02; done"
    );
    let args = [
        "run",
        "--session",
        SESSION,
        "--max-output",
        "1M",
        "--watch",
        "match",
        "--shell",
        &script,
    ];
    let id = outlive_testkit::scripts::ok(&world, &args);
    until("it is written", || {
        world.show(&id)["output"]["bytes"].as_u64().unwrap() > 8_000_030
    });
    kill_for_good(world.pair(&id).keeper);
    until("there is an heir", || keepings(&world, &id).len() == 2);
    kill_for_good(world.pair(&id).keeper);
    world.show(&id);
    let_go(&world);
    world.wait(&id);
    let counts: Vec<_> = world
        .events(&id, "matched")
        .iter()
        .map(|told| told["count"].clone())
        .collect();
    assert_eq!(counts, [1, 2]);
    assert_eq!(world.events(&id, "matched")[1]["last"]["text"], "match 3");
}

/// A prompt that was told is not told again by the next keeper.
#[test]
fn a_told_prompt_is_told_once_though_keepers_die() {
    let world = world(EVERY_MATCH);
    let id = start(
        &world,
        "keeper:Noticed=kill",
        "printf 'match? '; until [ -e \"$GO\" ]; do sleep 0.02; done; echo match; echo match 2; exec sleep 60",
    );
    until("the prompt is told", || matches(&world, &id) == 1);
    until("there is an heir", || keepings(&world, &id).len() == 2);
    kill_for_good(world.pair(&id).keeper);
    world.show(&id);
    let_go(&world);
    until("the next line is told", || matches(&world, &id) > 1);
    world.ok(&["stop", &id]);
    assert_eq!(super::told(&world, &id), ["match? ", "match 2"]);
}
