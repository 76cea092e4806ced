//! `send` either sends its own standard input or refuses. It never drops it silently.

use super::{begin_send, end_input, noise, reader, sum};
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::io::Write;
use std::process::Stdio;

/// Sends with a pipe as standard input that already has these bytes.
fn send_piped(world: &World, args: &[&str], bytes: &[u8]) -> Ran {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(bytes).unwrap();
    drop(writer);
    Ran::of(world.command(["send"]).args(args).stdin(reader))
}

#[test]
fn a_dash_sends_standard_input_with_whatever_follows_it() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for (options, bytes) in [
        (&["-"][..], b"a\n" as &[u8]),
        (&["-", "--enter"], b"b"),
        (&["-", "--enter", "--eof"], b"c"),
    ] {
        let ran = send_piped(&world, &[&[id.as_str()], options].concat(), bytes);
        assert_eq!(ran.code, 0, "{options:?}: {ran:?}");
    }
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"a\nb\nc\n");
}

#[test]
fn a_file_is_sent_before_the_end() {
    for text in [&[][..], &["-"]] {
        let world = World::new();
        let id = reader(&world, "exec sha256sum");
        let bytes = noise(2_000_000);
        let ran = Ran::end_of(begin_send(
            &world,
            &id,
            &[text, &["--eof"]].concat(),
            &bytes,
        ));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(world.wait(&id)["exit_code"], 0);
        assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
    }
}

#[test]
fn piped_data_that_would_not_be_sent_is_refused() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for options in [&["--enter"][..], &["--eof"], &["--key", "Enter"]] {
        let ran = send_piped(&world, &[&[id.as_str()], options].concat(), b"piped\n");
        assert_eq!(ran.code, 2, "{options:?}: {ran:?}");
        let hint = "standard input has data";
        assert!(
            ran.stderr.contains(hint) && ran.stderr.contains("Give `-`"),
            "{ran:?}"
        );
    }
    end_input(&world, &id);
    assert_eq!(world.output(&id), b"");
}

/// The shell of an agent may have such a pipe as its standard input.
#[test]
fn a_pipe_that_is_empty_is_not_waited_for() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let mut send = world.command(["send", &id, "--enter"]);
    send.stdin(Stdio::piped());
    let mut child = begin(send);
    let writer = child.stdin.take().unwrap();
    assert_eq!(Ran::end_of(child).code, 0);
    drop(writer);
    let ran = send_piped(&world, &[&id, "--enter", "--eof"], b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"\n\n");
}
