//! `send --eof`, also across killed keepers.

use super::{ROOM, letters, reader, reader_with_hooks, refusal, send_bytes, sum};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, keepings, until_output};
use outlive_testkit::processes::{CONT, KILL, STOP, begin, kill, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, send_line};
use outlive_testkit::world::World;

/// The input stays open until the job ends. After that a lingering reader must not wait for input that cannot come.
#[test]
fn lingering_readers_see_the_end_of_input_when_the_job_ends() {
    let world = World::new();
    let id = reader(&world, "(cat; echo end) <&0 & exit 3");
    assert_eq!(world.wait(&id)["exit_code"], 3);
    let ran = world.outlive(&["send", &id, "x"]);
    assert!(refusal(&ran).contains("has ended"), "{ran:?}");
    until_output(&world, &id, "end\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn the_end_comes_after_everything_that_was_sent() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec sha256sum"));
    let bytes = letters(ROOM / 2);
    send_bytes(&world, &id, &bytes);
    world.ok(&["send", &id, "last", "--eof"]);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    let expected = sum(&[&bytes[..], b"last"].concat());
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), expected);
}

/// Like a pipe of a shell: `echo x | cat /dev/stdin`.
#[test]
fn a_job_that_opens_its_input_by_name_after_the_end_was_sent_reads_it_all() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat /dev/stdin"));
    world.ok(&["send", &id, "x\n", "--eof"]);
    let_go(&world);
    let ran = world.outlive(&["wait", &id, "--timeout", "8s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.output(&id), b"x\n");
}

#[test]
fn the_end_survives_the_keeper_that_took_it() {
    for pending in [0, ROOM / 2] {
        let world = World::new();
        let id = reader(&world, &format!("{WAITS}exec cat"));
        let block = vec![b'B'; pending];
        send_bytes(&world, &id, &block);
        world.ok(&["send", &id, "--eof"]);
        kill_for_good(world.pair(&id).keeper);
        let_go(&world);
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_same_bytes("echo", &world.output(&id), &block);
        assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
    }
}

#[test]
fn the_end_comes_also_when_the_standby_stands_still_or_is_gone() {
    for signal in [KILL, STOP] {
        let world = World::new();
        let id = reader(&world, "exec cat");
        let standby = world.pair(&id).standby.unwrap();
        kill(standby, signal);
        send_line(&world, &id, "x");
        world.ok(&["send", &id, "--eof"]);
        if signal == STOP {
            kill(standby, CONT);
        }
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_eq!(world.output(&id), b"x\n");
    }
}

/// The keeper ends the input and is killed before it answers. When the client asks again, the job has no keeper any
/// more.
fn sent_over_a_killed_keeper(args: &[&str]) -> Ran {
    let world = World::new();
    let id = reader_with_hooks(&world, "keeper:InputEnded=stop", "exec cat");
    let mut command = world.command(["send", &id]);
    command.args(args);
    let client = begin(command);
    let keeper = world.until_keeper_stops(&id);
    kill(client.id() as i32, STOP);
    kill_for_good(keeper);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    world.until_nothing_runs();
    kill(client.id() as i32, CONT);
    Ran::end_of(client)
}

#[test]
fn an_eof_that_was_delivered_is_no_error_though_the_keeper_was_killed() {
    let ran = sent_over_a_killed_keeper(&["--eof"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn an_eof_of_unknown_fate_is_not_reported_as_refused() {
    let ran = sent_over_a_killed_keeper(&["last words", "--eof"]);
    assert!(refusal(&ran).contains("it may have been"), "{ran:?}");
}
