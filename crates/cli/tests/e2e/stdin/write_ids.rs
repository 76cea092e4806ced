//! `--write-id`: a write that is repeated arrives once.

use super::{ROOM, begin_send, end_input, letters, reader, sum, until_it_waits};
use crate::checks::assert_same_bytes;
use crate::processes::kill_for_good;
use crate::scripts::{WAITS, let_go};
use crate::world::{Ran, World};

#[test]
fn a_write_repeated_after_its_client_was_killed_is_completed() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec sha256sum"));
    let bytes = letters(3 * ROOM);
    let mut killed = begin_send(&world, &id, &["--write-id", "big"], &bytes);
    until_it_waits(&killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let again = begin_send(&world, &id, &["--write-id", "big"], &bytes);
    let_go(&world);
    let ran = Ran::end_of(again);
    assert_eq!(ran.code, 0, "{ran:?}");
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}

#[test]
fn a_write_id_arrives_once_and_another_arrives_too() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for write in ["x", "x", "y", "x", "y", &"z".repeat(34)] {
        world.ok(&["send", &id, write, "--enter", "--write-id", write]);
    }
    let block = vec![b'B'; 400_000];
    for _ in 0..2 {
        let ran = Ran::end_of(begin_send(&world, &id, &["--write-id", "block"], &block));
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    end_input(&world, &id);
    let lines = format!("x\ny\n{}\n", "z".repeat(34)).into_bytes();
    assert_same_bytes("echo", &world.output(&id), &[lines, block].concat());
}

#[test]
fn a_write_id_is_known_to_the_next_keeper() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    world.ok(&["send", &id, "once", "--enter", "--write-id", "x"]);
    kill_for_good(world.pair(&id).keeper);
    world.ok(&["send", &id, "once", "--enter", "--write-id", "x"]);
    world.ok(&["send", &id, "more", "--enter", "--write-id", "y"]);
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"once\nmore\n");
}

#[test]
fn no_write_id_is_taken_for_a_piece_of_another_write() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let block = vec![b'B'; 400_000];
    let ran = Ran::end_of(begin_send(&world, &id, &["--write-id", "a"], &block));
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = world.outlive(&["send", &id, "tail", "--write-id", "a#1"]);
    let expected = match ran.code {
        0 => [block, b"tail".to_vec()].concat(),
        code => {
            assert_eq!(code, 2, "{ran:?}");
            block
        }
    };
    end_input(&world, &id);
    assert_same_bytes("echo", &world.output(&id), &expected);
}

/// Whoever repeats what was done already is not told that it failed.
#[test]
fn a_repeated_write_that_ended_the_input_is_no_failure() {
    let world = World::new();
    let id = reader(&world, &format!("cat; {WAITS}exit 0"));
    for _ in 0..2 {
        world.ok(&["send", &id, "last", "--eof", "--write-id", "x"]);
    }
    kill_for_good(world.pair(&id).keeper);
    world.ok(&["send", &id, "last", "--eof", "--write-id", "x"]);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"last");
}

#[test]
fn a_bad_write_id_is_wrong_usage_and_changes_nothing() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for bad in ["", &"x".repeat(35), &"x".repeat(1000)] {
        let ran = world.outlive(&["send", &id, "no", "--write-id", bad]);
        assert_eq!(ran.code, 2, "{bad:?}: {ran:?}");
        assert!(ran.stderr.contains("write id"), "{ran:?}");
    }
    assert_eq!(world.outlive(&["send"]).code, 2);
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"");
}
