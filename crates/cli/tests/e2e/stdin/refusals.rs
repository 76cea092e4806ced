//! A `send` that cannot succeed is refused with a reason.

use super::{ROOM, begin_send, letters, reader, refusal, send_bytes, until_it_waits};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, until_output};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;

#[test]
fn without_a_pipe_a_job_reads_the_end_at_once_and_send_is_refused() {
    let world = World::new();
    let ended = world.shell("cat; echo over");
    assert_eq!(world.wait(&ended)["exit_code"], 0);
    assert_eq!(world.output(&ended), b"over\n");
    let id = world.ok(&["run", "--stdin", "null", "--", "sleep", "60"]);
    let ran = world.outlive(&["send", &id, "x"]);
    assert!(refusal(&ran).contains("--stdin pipe"), "{ran:?}");
    let ran = world.outlive(&["send", &id, "--eof"]);
    assert!(refusal(&ran).contains("--stdin pipe"), "{ran:?}");
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_job_that_closed_its_input_or_ended_refuses() {
    let world = World::new();
    let closed = reader(&world, "exec 0<&-; echo closed; exec sleep 60");
    until_output(&world, &closed, "closed\n");
    for _ in 0..2 {
        let ran = world.outlive(&["send", &closed, "x"]);
        assert!(
            refusal(&ran).contains("closed its standard input"),
            "{ran:?}"
        );
    }
    let at_end = reader(&world, "cat; exec sleep 60");
    world.ok(&["send", &at_end, "--eof"]);
    let ran = world.outlive(&["send", &at_end, "x"]);
    assert!(refusal(&ran).contains("closed"), "{ran:?}");
    let ended = reader(&world, "exit 3");
    assert_eq!(world.wait(&ended)["exit_code"], 3);
    let ran = world.outlive(&["send", &ended, "x"]);
    assert!(refusal(&ran).contains("has ended"), "{ran:?}");
    let ran = world.outlive(&["send", "nosuchjob", "x"]);
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn a_job_that_closes_its_input_while_a_send_waits_for_room_refuses_it() {
    let world = World::new();
    let id = reader(
        &world,
        &format!("{WAITS}exec 0<&-; echo closed; exec sleep 60"),
    );
    let sender = begin_send(&world, &id, &[], &letters(3 * ROOM));
    until_it_waits(&sender);
    let_go(&world);
    // The first one may have a part left that it sends only now.
    for ran in [Ran::end_of(sender), world.outlive(&["send", &id, "x"])] {
        assert!(
            refusal(&ran).contains("closed its standard input"),
            "{ran:?}"
        );
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_job_that_ends_while_a_send_waits_for_room_refuses_it() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exit 4"));
    let sender = begin_send(&world, &id, &[], &letters(3 * ROOM));
    until_it_waits(&sender);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 4);
    let ran = Ran::end_of(sender);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert_ne!(ran.stderr, "", "{ran:?}");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn nothing_can_be_sent_after_the_end_even_before_the_job_has_read_it() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec cat"));
    let block = vec![b'B'; ROOM / 2];
    send_bytes(&world, &id, &block);
    world.ok(&["send", &id, "--eof"]);
    let ran = world.outlive(&["send", &id, "late"]);
    assert!(refusal(&ran).contains("closed"), "{ran:?}");
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_same_bytes("echo", &world.output(&id), &block);
}
