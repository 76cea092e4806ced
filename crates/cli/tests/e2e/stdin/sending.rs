//! The job reads exactly what was sent.

use super::{end_input, noise, reader, send_bytes, sum};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, until_output};
use outlive_testkit::environment::behind;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::send_line;
use outlive_testkit::world::World;

#[test]
fn a_job_echoes_what_is_sent_until_its_input_is_ended() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    send_line(&world, &id, "one");
    until_output(&world, &id, "one\n");
    send_line(&world, &id, "two");
    until_output(&world, &id, "one\ntwo\n");
    assert_eq!(world.show(&id)["state"], "running");
    let job = end_input(&world, &id);
    assert_eq!(job["ended_by"], "itself", "{job}");
    assert_eq!(world.output(&id), b"one\ntwo\n");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn text_is_sent_as_it_is_and_enter_adds_a_newline() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    for args in [
        &["a\\n b"][..],
        &["--enter"],
        &["", "--enter"],
        &["c", "--enter"],
        &["d", "--enter", "--eof"],
    ] {
        world.ok(&[&["send", &id], args].concat());
    }
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"a\\n b\n\nc\nd\n");
}

#[test]
fn five_megabytes_of_noise_arrive_whole_and_in_order() {
    let world = World::new();
    let id = reader(&world, "exec sha256sum");
    let bytes = noise(5_000_000);
    send_bytes(&world, &id, &bytes);
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}

#[test]
fn every_byte_value_arrives_as_it_is() {
    let world = World::new();
    let id = reader(&world, "exec cat");
    let all: Vec<u8> = (0..=255).cycle().take(1024).collect();
    let zeros = vec![0; 300_000];
    let text = "\u{1}é\u{10ffff}\"\\".repeat(30_000).into_bytes();
    for bytes in [&all, &zeros, &text] {
        send_bytes(&world, &id, bytes);
    }
    end_input(&world, &id);
    assert_same_bytes("echo", &world.output(&id), &[all, zeros, text].concat());
}

#[test]
fn send_works_after_the_launcher_and_all_its_group_are_gone() {
    let world = World::new();
    let run = world.command(["run", "--id", "kept", "--stdin", "pipe", "--", "cat"]);
    let launcher = ["-w", "bash", "-c", "\"$@\"; kill -9 0", "launch"];
    let ran = Ran::of(&mut behind("setsid", launcher, &run));
    assert_eq!(ran.stdout.trim_end(), "kept", "{ran:?}");
    send_line(&world, "kept", "after");
    end_input(&world, "kept");
    assert_eq!(world.output("kept"), b"after\n");
}

#[test]
fn a_job_can_open_its_input_by_name() {
    let world = World::new();
    let id = reader(&world, "exec cat /dev/stdin");
    send_line(&world, &id, "x");
    until_output(&world, &id, "x\n");
    end_input(&world, &id);
}
