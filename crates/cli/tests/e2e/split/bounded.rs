//! `--max-output` with split streams: what is kept has its streams, and the record of them does not grow for ever.

use super::{start, stream};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, every, keepings};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::fs;

const MAX: u64 = 64 * 1024;

/// A program that writes numbered lines of 8 bytes to the two streams in turn, and each only after the keeper has taken
/// the one before. So the output changes its stream at each line.
fn alternating(count: u64) -> String {
    format!(
        "exec python3 -c '
import os, fcntl, struct, termios
def left(fd): return struct.unpack(\"i\", fcntl.ioctl(fd, termios.FIONREAD, b\"0000\"))[0]
for n in range({count}):
    fd, letter = ((1, \"o\"), (2, \"e\"))[n % 2]
    while left(3 - fd): os.sched_yield()
    os.write(fd, (letter + \"%06d\\n\" % n).encode())
'"
    )
}

fn line(number: u64) -> String {
    let letter = if number.is_multiple_of(2) { 'o' } else { 'e' };
    format!("{letter}{number:06}\n")
}

/// The lines of one stream that the job must have kept.
fn expected(letter: char, count: u64, dropped: std::ops::Range<u64>) -> Vec<u8> {
    let numbers = (0..count).filter(|number| !dropped.contains(&(number * 8)));
    let lines = numbers.map(line).filter(|line| line.starts_with(letter));
    lines.collect::<String>().into_bytes()
}

fn assert_kept(world: &World, id: &str, count: u64) {
    let job = world.wait(id);
    assert_eq!(
        (&job["exit_code"], &job["output"]["bytes"]),
        (&0.into(), &(8 * count).into())
    );
    let log = world.json(&["log", id, "-n", "1", "--json"]);
    let [from, to] = [0, 1].map(|end| log["dropped_ranges"][0][end].as_u64().unwrap());
    assert_eq!(from, MAX / 4);
    let stdout = expected('o', count, from..to);
    assert_same_bytes("stdout", &stream(world, id, "--stdout"), &stdout);
    let stderr = expected('e', count, from..to);
    assert_same_bytes("stderr", &stream(world, id, "--stderr"), &stderr);
    let last = world.outlive(&["log", id, "--stderr", "-n", "2"]).stdout;
    assert_eq!(last, line(count - 3) + &line(count - 1));
    let text = world
        .outlive(&["log", id, "--stderr", "-n", "100000"])
        .stdout;
    assert_eq!(
        text.matches("were not kept here").count(),
        1,
        "it says where something is missing"
    );
    let record = fs::metadata(world.job_dir(id).join("streams"))
        .unwrap()
        .len();
    assert!(record < 24 * 1024, "{record} bytes for {count} switches");
    assert!(!world.job_dir(id).join("streams.new").exists());
    assert_nothing_is_left(world, id);
}

#[test]
fn the_record_of_the_streams_of_a_bounded_output_is_bounded() {
    needs!(Python);
    let world = World::new();
    let id = start(&world, &["--max-output", "64K"], &alternating(40_000));
    assert_kept(&world, &id, 40_000);
}

#[test]
fn a_keeper_killed_while_it_shortens_the_record_loses_nothing() {
    needs!(Python);
    let hooks = ["SwitchesRewritten", "SwitchesReplaced", "Switched"];
    every(
        &hooks,
        |hook| (*hook).to_owned(),
        |hook| {
            let world = World::new();
            let script = alternating(20_000);
            let args = [
                "run",
                "--streams",
                "split",
                "--max-output",
                "64K",
                "--shell",
                &script,
            ];
            let hooks = format!("keeper:{hook}=kill");
            let ran = Ran::of(world.command(args).env("OUTLIVE_HOOKS", hooks));
            let id = ran.text();
            assert_kept(&world, &id, 20_000);
            assert_eq!(
                keepings(&world, &id),
                ["launched", "taken_over"],
                "it came to {hook}"
            );
        },
    );
}

/// Readers run while the middle is dropped and the record is replaced, again and again.
#[test]
fn a_stream_is_followed_while_its_middle_is_dropped() {
    needs!(Python);
    let world = World::new();
    let id = start(&world, &["--max-output", "64K"], &alternating(30_000));
    let ran = world.outlive(&["log", &id, "--stderr", "--follow", "--raw", "--bytes", "0"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut last = 0;
    for line in ran.stdout.lines() {
        let number: u64 = line
            .strip_prefix('e')
            .and_then(|it| it.parse().ok())
            .unwrap();
        assert!(number > last || last == 0, "{number} after {last}");
        last = number;
    }
    assert_eq!(last, 29_999);
    assert_kept(&world, &id, 30_000);
}
