//! `send --key` and `send --paste`.

use outlive_testkit::checks::{until_file, until_wrote};
use outlive_testkit::scripts::{go, ok, on_terminal};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// Starts a job that first writes `before` and then copies every typed byte to the file `$GO`.
fn raw_reader(world: &World, before: &str) -> String {
    let script = format!("stty raw -echo; printf '{before}ready'; exec cat > \"$GO\"");
    let id = on_terminal(world, &script);
    until_wrote(world, &id, "ready");
    id
}

const KEYS: [(&str, &str); 40] = [
    ("C-c", "\x03"),
    ("C-d", "\x04"),
    ("C-z", "\x1a"),
    ("C-]", "\x1d"),
    ("C-a", "\x01"),
    ("C-Space", "\0"),
    ("C-\\", "\x1c"),
    ("Tab", "\t"),
    ("S-Tab", "\x1b[Z"),
    ("Esc", "\x1b"),
    ("Enter", "\r"),
    ("Backspace", "\x7f"),
    ("Delete", "\x1b[3~"),
    ("Insert", "\x1b[2~"),
    ("PageUp", "\x1b[5~"),
    ("PageDown", "\x1b[6~"),
    ("Space", " "),
    ("M-x", "\x1bx"),
    ("q", "q"),
    ("é", "é"),
    ("Up", "\x1b[A"),
    ("Down", "\x1b[B"),
    ("Right", "\x1b[C"),
    ("Left", "\x1b[D"),
    ("Home", "\x1b[H"),
    ("End", "\x1b[F"),
    ("F1", "\x1bOP"),
    ("F2", "\x1bOQ"),
    ("F3", "\x1bOR"),
    ("F4", "\x1bOS"),
    ("F5", "\x1b[15~"),
    ("F6", "\x1b[17~"),
    ("F7", "\x1b[18~"),
    ("F8", "\x1b[19~"),
    ("F9", "\x1b[20~"),
    ("F10", "\x1b[21~"),
    ("F11", "\x1b[23~"),
    ("F12", "\x1b[24~"),
    ("C-?", "\x7f"),
    ("M-Enter", "\x1b\r"),
];

#[test]
fn every_key_sends_what_a_keyboard_does_in_order() {
    let world = World::new();
    let id = raw_reader(&world, "");
    let names = KEYS.iter().flat_map(|(name, _)| ["--key", *name]);
    let args: Vec<&str> = ["send", &id].into_iter().chain(names).collect();
    world.ok(&args);
    let bytes: String = KEYS.iter().map(|(_, bytes)| *bytes).collect();
    until_file(&go(&world), bytes.as_bytes());
}

#[test]
fn arrows_take_their_other_form_when_the_program_asks() {
    let world = World::new();
    let id = raw_reader(&world, "\\033[?1h");
    world.ok(&["send", &id, "--key", "Up", "Down", "Right", "Left", "F5"]);
    until_file(&go(&world), b"\x1bOA\x1bOB\x1bOC\x1bOD\x1b[15~");
}

#[test]
fn arrows_take_their_usual_form_again_when_the_program_asks() {
    let world = World::new();
    let id = raw_reader(&world, "\\033[?1h\\033[?1l");
    world.ok(&["send", &id, "--key", "Up"]);
    until_file(&go(&world), b"\x1b[A");
}

#[test]
fn a_paste_is_bracketed_only_when_the_program_asked() {
    for (before, pasted) in [
        ("\\033[?2004h", "\x1b[200~two\nlines\x1b[201~\r"),
        ("\\033[?2004h\\033[?2004l", "two\nlines\r"),
        ("", "two\nlines\r"),
    ] {
        let world = World::new();
        let id = raw_reader(&world, before);
        world.ok(&["send", &id, "two\nlines", "--paste", "--enter"]);
        until_file(&go(&world), pasted.as_bytes());
    }
}

#[test]
fn a_paste_cannot_end_itself() {
    let world = World::new();
    let id = raw_reader(&world, "\\033[?2004h");
    world.ok(&["send", &id, "a\x1b[201~rm -rf", "--paste"]);
    world.ok(&["send", &id, "END"]);
    until("it arrived", || {
        fs::read(go(&world)).is_ok_and(|bytes| bytes.ends_with(b"END"))
    });
    let got = fs::read(go(&world)).unwrap();
    let ends = got.windows(6).filter(|part| part == b"\x1b[201~").count();
    assert_eq!(ends, 1, "{:?}", String::from_utf8_lossy(&got));
}

#[test]
fn unknown_keys_are_refused_with_a_hint_and_nothing_is_sent() {
    let world = World::new();
    let id = raw_reader(&world, "");
    for key in ["Nope", "C-cc", "F13", "F0", "C-", "M-", ""] {
        let ran = world.outlive(&["send", &id, "text", "--key", key]);
        assert_eq!(ran.code, 2, "{key:?}: {ran:?}");
        assert!(ran.stderr.contains("C-c, M-x, Enter"), "{}", ran.stderr);
    }
    world.ok(&["send", &id, "x"]);
    until_file(&go(&world), b"x");
}

#[test]
fn an_impossible_send_is_refused_with_a_reason() {
    let world = World::new();
    let ended = ok(&world, &["run", "--pty", "--", "true"]);
    world.wait(&ended);
    let ran = world.outlive(&["send", &ended, "--key", "C-c"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("ended"), "{}", ran.stderr);
}
