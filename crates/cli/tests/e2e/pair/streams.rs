//! The keeper or its standby is killed during fast output.

use outlive_testkit::checks::{
    assert_nothing_is_left, assert_same_bytes, every, keepings, until_output,
};
use outlive_testkit::processes::{CONT, KILL, STOP, kill, state_of, until_stopped};
use outlive_testkit::scripts::{WAITS, go, let_go, numbers, start};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// A number below `limit` that differs from call to call.
fn any_below(limit: u64) -> u64 {
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    nanos.wrapping_mul(0x9E37_79B9_7F4A_7C15) % limit
}

fn output_len(world: &World, id: &str) -> u64 {
    fs::metadata(world.job_dir(id).join("output")).map_or(0, |metadata| metadata.len())
}

/// Starts a job that writes `numbers(300_000)` as fast as it can once `$GO` exists, and ends once `$GO.end` exists.
pub fn start_stream(world: &World) -> String {
    let wait_for = |file: &str| format!("until [ -e \"{file}\" ]; do sleep 0.02; done");
    let (begin, end) = (wait_for("$GO"), wait_for("$GO.end"));
    start(world, &format!("{begin}; seq 1 300000; {end}; exit 7"))
}

/// Lets the job write until this many bytes are in the output.
pub fn stream_to(world: &World, id: &str, bytes: u64) {
    let_go(world);
    while output_len(world, id) < bytes {
        thread::yield_now();
    }
}

/// Lets the job end, and checks that its whole output was kept.
pub fn assert_whole_stream(world: &World, id: &str) {
    fs::write(go(world).with_extension("end"), "").unwrap();
    assert_eq!(world.outlive(&["wait", id]).code, 7);
    assert_same_bytes("output", &world.output(id), &numbers(300_000));
    assert_eq!(world.events(id, "ended").len(), 1);
    assert_nothing_is_left(world, id);
}

/// This many positions in the stream, which differ from run to run.
pub fn places_in_the_stream(count: usize) -> Vec<u64> {
    const LENGTH: u64 = 1_988_895;
    (0..count).map(|_| any_below(LENGTH)).collect()
}

#[test]
fn a_keeper_killed_during_fast_output_loses_and_repeats_no_byte() {
    every(
        &places_in_the_stream(30),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            let keeper = world.pair(&id).keeper;
            stream_to(&world, &id, *at);
            kill(keeper, KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
        },
    );
}

#[test]
fn a_standby_killed_during_fast_output_changes_nothing() {
    every(
        &places_in_the_stream(8),
        |at| format!("killed at byte {at}"),
        |at| {
            let world = World::new();
            let id = start_stream(&world);
            let standby = world.pair(&id).standby.unwrap();
            stream_to(&world, &id, *at);
            kill(standby, KILL);
            assert_whole_stream(&world, &id);
            assert_eq!(keepings(&world, &id), ["launched"]);
        },
    );
}

#[test]
fn a_keeper_that_is_paused_in_mid_stream_loses_nothing() {
    let world = World::new();
    let id = start(&world, &format!("echo up; {WAITS} exec seq 1 100000"));
    let leader = world.leader(&id);
    let keeper = world.pair(&id).keeper;
    until_output(&world, &id, "up\n");
    kill(keeper, STOP);
    until_stopped(keeper);
    let_go(&world);
    until("the job waits for it", || {
        fs::read(format!("/proc/{leader}/comm")).is_ok_and(|name| name == b"seq\n")
            && state_of(leader) == Some(b'S')
    });
    assert_eq!(world.output(&id), b"up\n");
    kill(keeper, CONT);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    let expected = [b"up\n".to_vec(), numbers(100_000)].concat();
    assert_same_bytes("output", &world.output(&id), &expected);
    assert_eq!(keepings(&world, &id), ["launched"]);
}
