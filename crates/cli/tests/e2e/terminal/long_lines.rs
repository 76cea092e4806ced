//! Lines longer than the 4095 bytes that a terminal accepts at once.

use outlive_testkit::checks::{until_file, until_output, until_wrote};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{go, numbers, on_terminal};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};

/// Sends these bytes and Enter.
fn send_bytes_as_line(world: &World, id: &str, line: &[u8]) {
    let path = world.path("line");
    fs::write(&path, [line, b"\n"].concat()).unwrap();
    let mut send = world.command(["send", id]);
    let ran = Ran::of(send.stdin(File::open(path).unwrap()));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A line without repetitions, so that a missing part is noticed.
fn long_line(length: usize) -> Vec<u8> {
    let mut line = numbers(length as u32);
    line.retain(|byte| *byte != b'\n');
    line.truncate(length);
    line
}

#[test]
fn long_lines_are_not_cut() {
    for length in [4000, 4094, 4095, 4096, 20_000, 100_000] {
        let world = World::new();
        let id = on_terminal(&world, "echo up; exec cat > \"$GO\"");
        until_output(&world, &id, "up\r\n");
        let line = long_line(length);
        send_bytes_as_line(&world, &id, &line);
        let line = [line, b"\n".to_vec()].concat();
        until_file(&go(&world), &line);
    }
}

#[test]
fn every_reader_gets_a_long_line_whole() {
    needs!(Python);
    let python = "/usr/bin/python3 -c \"print('len', len(input()))\"";
    for reader in [
        python,
        "read -r line; echo len ${#line}",
        "head -n 1 | { tr -d '\\n'; } | { echo len $(wc -c); }",
        "dash -c 'read -r line; echo len ${#line}'",
        "dd bs=1 2>/dev/null | head -n 1 | tr -d '\\n' | { echo len $(wc -c); }",
        "dd bs=1000 2>/dev/null | head -n 1 | tr -d '\\n' | { echo len $(wc -c); }",
    ] {
        let world = World::new();
        let id = on_terminal(&world, &format!("echo up; {reader}"));
        until_output(&world, &id, "up\r\n");
        send_bytes_as_line(&world, &id, &long_line(20_000));
        until(&format!("{reader} has read"), || {
            String::from_utf8_lossy(&world.output(&id)).contains("len ")
        });
        until_wrote(&world, &id, "len 20000\r\n");
    }
}

#[test]
fn a_long_line_in_two_sends_is_whole_though_the_keeper_dies_between() {
    let world = World::new();
    let id = on_terminal(&world, "echo up; exec cat > \"$GO\"");
    until_output(&world, &id, "up\r\n");
    let line = long_line(6000);
    let (first, second) = line.split_at(3000);
    world.ok(&["send", &id, std::str::from_utf8(first).unwrap()]);
    kill_for_good(world.pair(&id).keeper);
    send_bytes_as_line(&world, &id, second);
    until_file(&go(&world), &[line, b"\n".to_vec()].concat());
}

/// At a prompt that reads single keys, nobody can know which program will read the next line. So `send` prints a
/// warning.
#[test]
fn a_long_line_typed_ahead_of_the_program_that_will_read_it_is_not_cut_silently() {
    let world = World::new();
    let id = world.ok(&["run", "--pty", "--", "bash", "--norc", "-i"]);
    world.ok(&["wait", &id, "--for", "input", "--timeout", "20s"]);
    let line = String::from_utf8(long_line(20_000)).unwrap();
    let text = format!("sleep 0.2; cat\n{line}\n");
    let said = world.outlive(&["send", &id, &text]).stderr;
    assert!(said.contains("longer than 4095 bytes"), "{said:?}");
    let short = world.outlive(&["send", &id, "echo short\n"]);
    assert_eq!((short.code, short.stderr.as_str()), (0, ""));
}

#[test]
fn a_long_line_for_a_program_that_reads_lines_needs_no_warning() {
    let world = World::new();
    let id = world.ok(&["run", "--pty", "--", "cat"]);
    world.ok(&["wait", &id, "--for", "input", "--timeout", "20s"]);
    let line = String::from_utf8(long_line(20_000)).unwrap();
    let sent = world.outlive(&["send", &id, &line, "--enter"]);
    assert_eq!((sent.code, sent.stderr.as_str()), (0, ""));
}
