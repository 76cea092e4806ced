//! Keys work in the middle of a flood of output.

use super::person::Person;
use super::{halt, is_running};
use outlive_testkit::checks::until_output;
use outlive_testkit::processes::{CONT, is_alive, kill};
use outlive_testkit::scripts::on_terminal;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// What a flood writes, which is more than a viewer is shown in a moment.
const FLOOD: u64 = 10_100_000;

/// Attaches somebody to a job that writes `FLOOD` bytes, and has them press a key while most of it is
/// still to be shown. Names the job and the client.
fn press_in_a_flood(world: &World, person: &Person, key: &str) -> (String, i32) {
    let script = "echo up; read -r x; yes $(printf %099d 0) | head -c 10000000; exec sleep 100";
    let id = on_terminal(world, script);
    until_output(world, &id, "up\r\n");
    // Else the shell would notice that its program stands still.
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

/// How much a process has written, as long as it is there.
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
