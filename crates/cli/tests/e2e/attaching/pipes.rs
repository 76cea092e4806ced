//! Jobs without a terminal.

use super::is_running;
use super::person::Person;
use crate::checks::until_output;
use crate::processes::kill_for_good;
use crate::scripts::{WAITS, let_go, ok, start};
use crate::world::World;

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
