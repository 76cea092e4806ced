//! Viewers: the sizes of their terminals, several viewers at once, read-only viewers.

use super::person::Person;
use super::{ANSWERS, is_running};
use crate::terminal::until_in_front;
use outlive_testkit::checks::{until_output, until_wrote};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::on_terminal;
use outlive_testkit::world::World;
use serde_json::json;
use std::io::Read;
use std::process::Stdio;

#[test]
fn the_terminal_of_the_job_takes_the_size_of_the_viewer() {
    let world = World::new();
    let script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "30 100");
    // While bash runs a trap, it loses a second signal of the same kind.
    until_in_front(&world, "sleep");
    person.asks(&["resize-window", "-x", "70", "-y", "20"]);
    person.until_sees("20 70");
    until_in_front(&world, "sleep");
    person.asks(&["resize-window", "-x", "130", "-y", "40"]);
    person.until_sees("40 130");
    assert_eq!(
        world.output(&id),
        b"up\r\n30 100\r\n20 70\r\n40 130\r\n".to_vec()
    );
    let seen = world.json(&["log", &id, "--screen", "--json"]);
    assert_eq!((&seen["rows"], &seen["cols"]), (&json!(40), &json!(130)));
}

#[test]
fn several_viewers_see_the_same_output_and_can_all_type() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let people = [Person::sits_down(&world), Person::sits_down(&world)];
    for person in &people {
        person.attaches("", &id, "up");
    }
    people[0].enters("one");
    people.iter().for_each(|person| person.until_sees("<one>"));
    people[1].enters("two");
    people.iter().for_each(|person| person.until_sees("<two>"));
    assert_eq!(people[0].sees(), people[1].sees());
    people[0].leaves(&id);
    people[1].enters("three");
    people[1].until_sees("<three>");
    assert!(is_running(&world, &id));
}

#[test]
fn a_read_only_viewer_changes_nothing() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("--read-only", &id, "up");
    person.enters("nothing");
    person.presses("C-c");
    person.asks(&["resize-window", "-x", "70", "-y", "20"]);
    world.ok(&["send", &id, "heard", "--enter"]);
    person.until_sees("<heard> 30 120");
    assert_eq!(
        world.output(&id),
        b"up\r\nheard\r\n<heard> 30 120\r\n".to_vec()
    );
    person.leaves(&id);
    person.has_a_sane_terminal();
    assert!(is_running(&world, &id));
}

#[test]
fn without_a_terminal_attach_follows_and_changes_no_size() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let mut attach = world.command(["attach", &id]);
    let mut attach = attach.stdout(Stdio::piped()).spawn().unwrap();
    world.ok(&["send", &id, "hello", "--enter"]);
    until_wrote(&world, &id, "<hello> 30 120");
    world.ok(&["send", &id, "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 4);
    let mut shown = String::new();
    let mut stdout = attach.stdout.take().unwrap();
    stdout.read_to_string(&mut shown).unwrap();
    assert!(attach.wait().unwrap().success());
    assert!(shown.contains("<hello> 30 120"), "{shown:?}");
    assert!(shown.contains("over"), "{shown:?}");
}

#[test]
fn a_viewer_goes_on_when_the_keeper_is_killed() {
    for read_only in ["", "--read-only"] {
        let world = World::new();
        let id = on_terminal(&world, ANSWERS);
        until_output(&world, &id, "up\r\n");
        let person = Person::sits_down(&world);
        person.attaches(read_only, &id, "up");
        person.types("bef");
        kill_for_good(world.pair(&id).keeper);
        person.enters("ore");
        if read_only.is_empty() {
            person.until_sees("<before> 30 100");
            person.asks(&["resize-window", "-x", "90", "-y", "25"]);
        }
        world.ok(&["send", &id, "sent", "--enter"]);
        person.until_sees("<sent>");
        let expected = match read_only {
            "" => "up\r\nbefore\r\n<before> 30 100\r\nsent\r\n<sent>",
            _ => "up\r\nsent\r\n<sent>",
        };
        let wrote = String::from_utf8(world.output(&id)).unwrap();
        assert!(wrote.starts_with(expected), "{wrote:?}");
        person.leaves(&id);
        person.has_a_sane_terminal();
    }
}
