//! `attach` on jobs without a terminal.

use super::is_running;
use super::person::Person;
use outlive_testkit::checks::until_output;
use outlive_testkit::processes::{begin, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, ok, start};
use outlive_testkit::world::World;
use std::fs::{self, File};

#[test]
fn on_a_pipe_job_attach_shows_output_and_sends_lines() {
    let world = World::new();
    let script = "echo up; while read -r line; do echo \"<$line>\"; done";
    let id = ok(&world, &["run", "--stdin", "pipe", "--shell", script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("hello");
    person.until_sees("<hello>");
    kill_for_good(world.pair(&id).keeper);
    person.enters("again");
    person.until_sees("<again>");
    assert_eq!(world.output(&id), b"up\n<hello>\n<again>\n");
    assert!(person.client().is_some());
}

#[test]
fn control_bracket_leaves_a_pipe_job_too() {
    let world = World::new();
    let id = ok(
        &world,
        &["run", "--stdin", "pipe", "--shell", "echo up; cat"],
    );
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-]");
    person.until_sees(&format!("left {id}"));
    assert_eq!(world.output(&id), b"up\n");
    person.has_a_sane_terminal();
    assert!(is_running(&world, &id));
}

#[test]
fn control_c_leaves_a_pipe_job_running() {
    let world = World::new();
    let id = ok(
        &world,
        &["run", "--stdin", "pipe", "--shell", "echo up; cat"],
    );
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-c");
    person.until_sees(&format!("left {id}"));
    world.ok(&["send", &id, "still", "--enter", "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"up\nstill\n");
}

#[test]
fn control_d_ends_the_input_of_a_pipe_job_and_its_output_is_followed() {
    let world = World::new();
    let script = format!("echo up; cat; echo ended; {WAITS}echo more; exec sleep 100");
    let id = ok(&world, &["run", "--stdin", "pipe", "--shell", &script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("one");
    until_output(&world, &id, "up\none\n");
    person.presses("C-d");
    person.until_sees("the input of the job has ended");
    until_output(&world, &id, "up\none\nended\n");
    person.enters("two");
    let_go(&world);
    person.until_sees("more");
    person.leaves(&id);
    person.has_a_sane_terminal();
    assert_eq!(world.output(&id), b"up\none\nended\nmore\n");
    assert!(is_running(&world, &id));
}

#[test]
fn a_read_only_viewer_does_not_end_the_input_with_control_d() {
    let world = World::new();
    let script = "echo up; while read -r line; do echo \"<$line>\"; done";
    let id = ok(&world, &["run", "--stdin", "pipe", "--shell", script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("--read-only", &id, "up");
    person.presses("C-d");
    person.leaves(&id);
    world.ok(&["send", &id, "still", "--enter"]);
    until_output(&world, &id, "up\n<still>\n");
}

#[test]
fn a_viewer_without_a_terminal_does_not_end_the_input() {
    let world = World::new();
    let script = "echo up; while read -r line; do echo \"<$line>\"; done; exit 3";
    let id = ok(&world, &["run", "--stdin", "pipe", "--shell", script]);
    until_output(&world, &id, "up\n");
    let mut attach = world.command(["attach", &id]);
    let typed = world.path("typed");
    fs::write(&typed, "one\n").unwrap();
    let viewer = begin({
        attach.stdin(File::open(&typed).unwrap());
        attach
    });
    until_output(&world, &id, "up\n<one>\n");
    world.ok(&["send", &id, "two", "--enter", "--eof"]);
    let ran = Ran::end_of(viewer);
    assert!(ran.stdout.contains("<two>"), "{ran:?}");
    assert_eq!(world.show(&id)["exit_code"], 3);
}

#[test]
fn a_job_that_closed_its_input_can_still_be_watched() {
    let world = World::new();
    let script = format!("exec < /dev/null; echo up; {WAITS}echo more; exec sleep 100");
    let id = ok(&world, &["run", "--stdin", "pipe", "--shell", &script]);
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("typed");
    person.until_sees("typed");
    let_go(&world);
    person.until_sees("more");
    assert!(person.client().is_some());
}

#[test]
fn on_a_job_without_input_attach_shows_output_and_typing_is_ignored() {
    let world = World::new();
    let id = start(&world, &format!("echo up; {WAITS}echo more; exit 2"));
    until_output(&world, &id, "up\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("typed");
    person.until_sees("typed");
    let_go(&world);
    person.until_sees("exited 2");
    let seen = person.sees();
    assert!(seen.contains("up\ntyped\nmore\n"), "{seen}");
    assert_eq!(world.output(&id), b"up\nmore\n");
    person.has_a_sane_terminal();
}
