//! `--write-id`: a repeated write arrives once.

use super::{ROOM, begin_send, end_input, letters, reader, sum, until_it_waits};
use outlive_testkit::checks::assert_same_bytes;
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use serde_json::{Value, json};

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
fn a_write_id_never_matches_part_of_another_write() {
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

/// The key `repeated` of `send --json`, and the message about it.
fn repeated(world: &World, id: &str, args: &[&str]) -> (Value, String) {
    let ran = world.outlive(&[&["send", id, "--json"], args].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["sent"], true, "{answer}");
    (answer["repeated"].clone(), ran.stderr)
}

#[test]
fn a_repeated_write_says_that_it_was_one() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let write = ["once", "--enter", "--write-id", "w"];
    assert_eq!(repeated(&world, &id, &write), (json!(false), String::new()));
    let said = "outlive: note: a write with the id \"w\" was accepted before, so nothing was written now\n";
    assert_eq!(
        repeated(&world, &id, &write),
        (json!(true), said.to_owned())
    );
    let plain = world.outlive(&["send", &id, "once", "--enter", "--write-id", "w"]);
    assert_eq!((plain.code, plain.stderr.as_str()), (0, said));
    // The next keeper recognises the repetition too.
    kill_for_good(world.pair(&id).keeper);
    assert_eq!(
        repeated(&world, &id, &write),
        (json!(true), said.to_owned())
    );
    // A write without an ID is never a repetition.
    for _ in 0..2 {
        let plain = repeated(&world, &id, &["plain", "--enter"]);
        assert_eq!(plain, (json!(false), String::new()));
    }
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"once\nplain\nplain\n");
}

/// The client of a write was killed in the middle. The repetition sends the rest, so it has written something.
#[test]
fn completing_a_half_delivered_write_is_not_reported_as_a_repetition() {
    let world = World::new();
    let id = reader(&world, &format!("{WAITS}exec sha256sum"));
    let bytes = letters(3 * ROOM);
    let options = ["--write-id", "big", "--json"];
    let mut killed = begin_send(&world, &id, &options, &bytes);
    until_it_waits(&killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let completing = begin_send(&world, &id, &options, &bytes);
    let_go(&world);
    let answered = |child| {
        let ran = Ran::end_of(child);
        assert_eq!(ran.code, 0, "{ran:?}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        answer["repeated"].clone()
    };
    assert_eq!(answered(completing), false);
    // Started only after the write is complete. Of two repetitions at the same time, either may complete it.
    let again = begin_send(&world, &id, &options, &bytes);
    assert_eq!(answered(again), true);
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}

/// The killed keeper may have taken the write. The next keeper knows the ID, but not which client sent it.
#[test]
fn after_a_kill_in_the_middle_it_is_not_known_whether_it_was_a_repetition() {
    let world = World::new();
    let mut command = world.command(["run", "--stdin", "pipe", "--", "cat"]);
    let ran = Ran::of(command.env("OUTLIVE_HOOKS", "keeper:InputAccepted=kill"));
    let id = ran.stdout.trim_end();
    let write = ["once", "--enter", "--write-id", "w"];
    assert_eq!(repeated(&world, id, &write), (Value::Null, String::new()));
    assert_eq!(repeated(&world, id, &write).0, true);
    end_input(&world, id);
    assert_eq!(world.output(id), b"once\n");
}

/// A repeated write that already succeeded is not reported as a failure.
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
