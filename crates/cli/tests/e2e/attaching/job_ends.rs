//! `attach` ends when the job ends.

use super::person::Person;
use super::{ANSWERS, halt};
use outlive_testkit::checks::until_output;
use outlive_testkit::processes::{CONT, kill};
use outlive_testkit::scripts::{ok, on_terminal};
use outlive_testkit::world::World;

#[test]
fn attach_ends_with_the_job_and_reports_its_end() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-d");
    person.until_sees("exited 4");
    let seen = person.sees();
    let order = [seen.find("over"), seen.find(&format!("{id} exited 4"))];
    assert!(order[0].is_some() && order[0] < order[1], "{seen}");
    person.has_a_sane_terminal();
}

/// Lets a job end while the client is suspended and the person does something.
fn meanwhile_the_job_ends(something: impl Fn(&Person)) {
    let world = World::new();
    let id = on_terminal(&world, "echo up; read -r x; exit 6");
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    // Without job control, the shell does not notice that its program is suspended.
    person.enters("set +m");
    person.attaches("", &id, "up");
    let client = person.client().unwrap();
    halt(client);
    world.ok(&["send", &id, "--enter"]);
    world.wait(&id);
    something(&person);
    kill(client, CONT);
    person.until_sees("code=");
    let seen = person.sees();
    assert!(seen.contains(&format!("{id} exited 6")), "{seen}");
    assert!(seen.contains("code=0"), "{seen}");
    person.has_a_sane_terminal();
}

#[test]
fn typing_into_a_job_that_ends_meanwhile_is_no_failure() {
    meanwhile_the_job_ends(|person| person.types("too late"));
}

#[test]
fn changing_the_window_of_a_job_that_ends_meanwhile_is_no_failure() {
    meanwhile_the_job_ends(|person| {
        person.asks(&["resize-window", "-x", "70", "-y", "20"]);
    });
}

#[test]
fn attaching_to_an_ended_job_shows_its_end_and_returns() {
    for pty in [true, false] {
        let world = World::new();
        let script = "echo last words; exit 3";
        let mut args = vec!["run", "--shell", script];
        args.extend(pty.then_some("--pty"));
        let id = ok(&world, &args);
        world.wait(&id);
        let person = Person::sits_down(&world);
        person.enters(&format!("clear; outlive attach {id}; echo code=$?"));
        person.until_sees("code=0");
        let seen = person.sees();
        let order = [
            seen.find("last words"),
            seen.find(&format!("{id} exited 3")),
        ];
        assert!(order[0].is_some() && order[0] < order[1], "{pty} {seen}");
        person.has_a_sane_terminal();
    }
}

#[test]
fn attaching_to_an_unknown_job_is_an_error() {
    let world = World::new();
    let ran = world.outlive(&["attach", "nobody"]);
    assert_eq!(ran.code, 3, "{ran:?}");
}
