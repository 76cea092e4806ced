//! Every way of leaving `attach`: the job continues and the terminal is restored.

use super::person::Person;
use super::{ANSWERS, is_running};
use outlive_testkit::checks::{every, until_output, until_wrote};
use outlive_testkit::processes::{INT, is_alive, kill, kill_for_good};
use outlive_testkit::scripts::on_terminal;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

const HUP: i32 = 1;
const TERM: i32 = 15;

#[test]
fn leaving_attach_keeps_the_job_running_and_restores_the_terminal() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.leaves(&id);
    assert!(
        person.sees().contains("the job continues"),
        "{}",
        person.sees()
    );
    person.until_sees("code=0");
    person.has_a_sane_terminal();
    assert!(is_running(&world, &id));
    assert_eq!(world.output(&id), b"up\r\n");
    world.ok(&["send", &id, "still there", "--enter"]);
    until_wrote(&world, &id, "<still there>");
}

#[test]
fn the_terminal_is_restored_after_a_full_screen_program() {
    let world = World::new();
    let modes = "\\033[?1049h\\033[?25l\\033[?1h\\033[?2004h\\033[?1000h\\033[?1006h\\033[31m";
    let script = format!("printf '{modes}painted'; exec sleep 100");
    let id = on_terminal(&world, &script);
    until_wrote(&world, &id, "painted");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "painted");
    until("the program has the terminal", || {
        person.terminal("alternate_on") == "1" && person.terminal("cursor_flag") == "0"
    });
    person.leaves(&id);
    person.has_a_sane_terminal();
}

#[test]
fn the_terminal_is_restored_whatever_the_program_did_to_it() {
    let modes = [
        "\\033[?1049h\\033[?25l\\033[?1h\\033[?1003h",
        "\\033[3;9r",
        "\\033=",
        "\\033[?7l",
        "\\033[?6h",
        "\\033[4h",
    ];
    every(
        &modes,
        |modes| (*modes).to_owned(),
        |modes| {
            let world = World::new();
            let script = format!("echo up; read -r x; printf '{modes}painted'; exec sleep 100");
            let id = on_terminal(&world, &script);
            until_output(&world, &id, "up\r\n");
            let person = Person::sits_down(&world);
            person.attaches("", &id, "up");
            person.presses("Enter");
            person.until_sees("painted");
            person.leaves(&id);
            person.has_a_sane_terminal();
        },
    );
}

#[test]
fn closing_the_window_does_not_harm_the_job() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    let client = person.client().unwrap();
    person.asks(&["kill-session"]);
    until("the client is gone", || !is_alive(client));
    world.ok(&["send", &id, "after", "--enter"]);
    until_wrote(&world, &id, "<after> 30 100");
    assert_eq!(world.output(&id), b"up\r\nafter\r\n<after> 30 100\r\n");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 4);
}

#[test]
fn killing_the_client_does_not_harm_the_job() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    kill_for_good(person.client().unwrap());
    world.ok(&["send", &id, "after", "--enter"]);
    until_wrote(&world, &id, "<after> 30 100");
    let again = Person::sits_down(&world);
    again.attaches("", &id, "<after>");
    again.enters("again");
    again.until_sees("<again>");
}

#[test]
fn a_client_that_is_asked_to_end_restores_the_terminal() {
    // `ulimit -s` is meant for the job, so with it the client works on a second thread. Signals must reach that
    // thread.
    let small = "ulimit -S -s 512";
    for (signal, limit) in [(TERM, ""), (HUP, ""), (INT, ""), (TERM, small)] {
        let world = World::new();
        let id = on_terminal(&world, "printf '\\033[?1049h\\033[?25lup'; exec sleep 100");
        until_wrote(&world, &id, "up");
        let person = Person::sits_down(&world);
        person.enters(limit);
        person.attaches("", &id, "up");
        until("the screen is taken", || {
            person.terminal("alternate_on") == "1"
        });
        kill(person.client().unwrap(), signal);
        until("the client is gone", || person.client().is_none());
        person.has_a_sane_terminal();
        assert!(is_running(&world, &id));
    }
}
