//! Killed keepers lose no byte of the log.

use super::{append, detach, detach_in_two_parts, read, take_over, until_closed};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::path::Path;
use std::thread;

/// Numbered lines, in bursts so that they flow for a while.
const LINES: usize = 60_000;

fn numbered() -> String {
    format!("seq -w 1 {LINES} | while read -r n; do echo \"line $n\"; done; exit 4")
}

fn expected() -> String {
    (1..=LINES).map(|n| format!("line {n:05}\n")).collect()
}

fn assert_complete(world: &World, id: &str, log: &Path, before: &str) {
    let job = world.wait(id);
    assert_eq!(job["exit_code"], 4, "{job}");
    until_closed(world, id);
    let expected = expected();
    assert!(
        world.output(id) == expected.as_bytes(),
        "the output differs"
    );
    let written = read(log);
    assert_eq!(written.len(), before.len() + expected.len());
    assert!(written == format!("{before}{expected}"), "the log differs");
    assert_eq!(world.events(id, "ended").len(), 1);
}

fn until_it_flows(log: &Path, bytes: u64) {
    until("output flows", || fs::metadata(log).unwrap().len() > bytes);
}

#[test]
fn a_killed_keeper_loses_no_byte_of_the_log() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before\n").unwrap();
    detach(&world, "d", &log, &numbered());
    until_it_flows(&log, 10_000);
    take_over(&world, "d");
    assert_complete(&world, "d", &log, "before\n");
    assert_eq!(world.events("d", "kept").len(), 2);
}

#[test]
fn killing_both_keepers_loses_no_byte_of_the_log() {
    let world = World::new();
    let log = world.path("log");
    fs::write(&log, "before\n").unwrap();
    detach(&world, "d", &log, &numbered());
    for round in 1..4 {
        until_it_flows(&log, round * 20_000);
        world.kill_both("d");
        assert_eq!(world.show("d")["state"], "running");
    }
    assert_complete(&world, "d", &log, "before\n");
}

#[test]
fn a_keeper_killed_between_output_and_log_loses_no_byte() {
    for hook in [
        "Captured",
        "LeaderEnded",
        "Drained",
        "OutputSynced",
        "EndedRecorded",
    ] {
        let world = World::new();
        let log = world.path("log");
        fs::write(&log, "before\n").unwrap();
        let ran = Ran::of(
            world
                .command(["detach", "--id", "d", log.to_str().unwrap(), "--"])
                .args(["bash", "-c", "echo one; echo two; exit 4"])
                .env("OUTLIVE_HOOKS", format!("keeper:{hook}=kill")),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(world.wait("d")["exit_code"], 4, "{hook}");
        until_closed(&world, "d");
        assert_eq!(read(&log), "before\none\ntwo\n", "{hook}");
        assert_eq!(world.output("d"), b"one\ntwo\n");
        // If the keeper was killed after it wrote the end, `wait` returned before the new keeper was recorded.
        until("the new keeper is recorded", || {
            world.events("d", "kept").len() == 2
        });
    }
}

#[test]
fn other_writers_of_the_log_lose_nothing_while_the_keepers_are_dead() {
    let world = World::new();
    let (log, go) = (world.path("log"), world.path("go"));
    detach_in_two_parts(&world, "d", &log, &go, "echo second");
    world.kill_both("d");
    append(&log, "somebody else\n");
    // Adopt the job before it ends. Without a keeper, its last output would be lost.
    assert_eq!(world.show("d")["state"], "running");
    File::create(go).unwrap();
    assert_eq!(world.wait("d")["exit_code"], 0);
    until_closed(&world, "d");
    assert_eq!(world.output("d"), b"first\nsecond\n");
    assert_eq!(read(&log), "first\nsomebody else\nsecond\n");
}

#[test]
fn ten_jobs_that_race_for_one_log_leave_whole_outputs_in_it() {
    let world = World::new();
    let log = world.path("log");
    let one = |number: usize| {
        let id = format!("j{number}");
        let words = format!("echo begin {number}; echo end {number}");
        let ran = world.outlive(&[
            "detach",
            "--id",
            &id,
            log.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            &words,
        ]);
        (id, number, ran)
    };
    let all: Vec<(String, usize, Ran)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|n| scope.spawn(move || one(n))).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (id, number, ran) in all {
        if ran.code == 0 {
            world.wait(&id);
            let whole = format!("begin {number}\nend {number}\n");
            assert!(read(&log).contains(&whole), "{number}: {:?}", read(&log));
        } else {
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(ran.stderr.contains("another job"), "{ran:?}");
        }
    }
}
