//! Keys work while a job writes very much output.

use super::person::Person;
use super::{halt, is_running};
use outlive_testkit::checks::until_output;
use outlive_testkit::processes::{CONT, is_alive, kill};
use outlive_testkit::scripts::on_terminal;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// How much the job writes. It is more than a viewer can be shown at once.
const FLOOD: u64 = 10_100_000;

/// Attaches a person to a job that writes `FLOOD` bytes, and presses a key while most of it is not shown yet. Returns
/// the job's ID and the client's pid.
fn press_in_a_flood(world: &World, person: &Person, key: &str) -> (String, i32) {
    let script = "echo up; read -r x; yes $(printf %099d 0) | head -c 10000000; exec sleep 100";
    let id = on_terminal(world, script);
    until_output(world, &id, "up\r\n");
    // Without job control, the shell does not notice that its program is suspended.
    person.enters("set +m");
    person.attaches("", &id, "up");
    let client = person.client().unwrap();
    halt(client);
    world.ok(&["send", &id, "--enter"]);
    until("there is much to show", || {
        let output = fs::metadata(world.job_dir(&id).join("output"));
        output.is_ok_and(|output| output.len() > FLOOD)
    });
    kill(client, CONT);
    until("it is being shown", || {
        written_by(client).is_some_and(|written| written > FLOOD / 100)
    });
    person.presses(key);
    (id, client)
}

/// How many bytes a process has written; `None` once it has ended.
fn written_by(pid: i32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "))?;
    line.parse().ok().filter(|_| is_alive(pid))
}

#[test]
fn a_viewer_can_leave_in_the_middle_of_a_flood() {
    let world = World::new();
    let person = Person::sits_down(&world);
    let (id, client) = press_in_a_flood(&world, &person, "C-]");
    let mut written = 0;
    until("the client is gone", || {
        let now = written_by(client);
        written = now.unwrap_or(written);
        now.is_none() || written > FLOOD / 2
    });
    assert!(written <= FLOOD / 2, "still there after {written} bytes");
    person.until_sees(&format!("left {id}"));
    assert!(is_running(&world, &id));
}

#[test]
fn a_viewer_can_interrupt_in_the_middle_of_a_flood() {
    let world = World::new();
    let person = Person::sits_down(&world);
    let (id, client) = press_in_a_flood(&world, &person, "C-c");
    assert_eq!(world.wait(&id)["exit_code"], 130);
    let written = written_by(client).unwrap_or(FLOOD);
    assert!(written <= FLOOD / 2, "heard after {written} bytes");
}
