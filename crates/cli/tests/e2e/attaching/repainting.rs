//! A viewer who attaches sees the current screen.

use super::person::Person;
use outlive_testkit::checks::until_wrote;
use outlive_testkit::scripts::{numbers, ok, on_terminal};
use outlive_testkit::world::World;
use serde_json::json;
use std::fs;

/// The screen as `log --screen` prints it.
fn screen(world: &World, id: &str) -> String {
    world.ok(&["log", id, "--screen"])
}

#[test]
fn attaching_to_a_pager_shows_the_page_it_is_on() {
    let world = World::new();
    fs::write(world.path("numbers"), numbers(200)).unwrap();
    let file = world.path("numbers").display().to_string();
    let less = ["--env", "LESS=", "--", "less", &file];
    let id = ok(&world, &[&["run", "--pty=30x100"], &less[..]].concat());
    until_wrote(&world, &id, "29");
    world.ok(&["send", &id, "--key", "Space"]);
    until_wrote(&world, &id, "58");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "\n58\n:");
    let expected: Vec<String> = (30..=58).map(|n| n.to_string()).collect();
    assert_eq!(person.sees(), format!("{}\n:", expected.join("\n")));
    assert_eq!(person.sees(), screen(&world, &id));
    assert_eq!(person.terminal("alternate_on"), "1");
    person.presses("Space");
    person.until_sees("\n87\n:");
    assert_eq!(person.sees(), screen(&world, &id));
    person.types("q");
    person.until_sees("exited 0");
    person.has_a_sane_terminal();
}

/// Paints with every kind of attribute and cursor movement, and leaves the cursor in the middle.
const PAINTING: &str =
    "\\033[2J\\033[5;10H\\033[1;32mgreen\\033[0m\\033[30;96Hright\\033[1;1H日本語\\033[10;20Hhere";

#[test]
fn attaching_repaints_what_is_there() {
    let world = World::new();
    let script = format!("printf '{PAINTING}'; exec sleep 100");
    let id = ok(&world, &["run", "--pty=30x100", "--shell", &script]);
    until_wrote(&world, &id, "here");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "here");
    assert_eq!(person.sees(), screen(&world, &id));
    assert!(person.sees().starts_with("日本語\n"), "{}", person.sees());
    let cursor = world.json(&["log", &id, "--screen", "--json"])["cursor"].clone();
    assert_eq!(cursor, json!({ "row": 9, "col": 23, "visible": true }));
    let at = (person.terminal("cursor_y"), person.terminal("cursor_x"));
    assert_eq!(at, ("9".to_owned(), "23".to_owned()));
}

#[test]
fn a_later_viewer_gets_the_scrolling_region() {
    let world = World::new();
    let paint = "printf '\\033[2J\\033[Htop\\033[5;1Hbottom\\033[2;4r\\033[4;1Hready'";
    let scroll = "printf '\\na\\nb\\nc\\nd'";
    let script = format!("{paint}; stty -echo; read -r x; {scroll}; exec sleep 100");
    let id = ok(&world, &["run", "--pty=30x100", "--shell", &script]);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    person.presses("Enter");
    person.until_sees("\nd");
    assert_eq!(screen(&world, &id), "top\nb\nc\nd\nbottom");
    assert_eq!(person.sees(), "top\nb\nc\nd\nbottom");
}

#[test]
fn a_wrapped_line_looks_the_same_to_a_viewer() {
    let world = World::new();
    let line: String = numbers(60).iter().map(|byte| *byte as char).collect();
    let line = line.replace('\n', "");
    let script = format!("echo {line}{line}; echo after; exec sleep 100");
    let id = ok(&world, &["run", "--pty=30x100", "--shell", &script]);
    until_wrote(&world, &id, "after");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "after");
    let double = format!("{line}{line}");
    let rows: Vec<&str> = [&double[..100], &double[100..200], &double[200..], "after"].into();
    assert_eq!(person.sees(), rows.join("\n"));
    assert_eq!(screen(&world, &id), rows.join("\n"));
}

#[test]
fn colours_are_repainted() {
    let world = World::new();
    let script = "printf '\\033[1;32mgreen\\033[0m plain \\033[7mturned\\033[0m'; exec sleep 100";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "turned");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "turned");
    let seen = person.asks(&["capture-pane", "-p", "-e"]);
    for part in ["\x1b[1m\x1b[32mgreen\x1b[0m", "\x1b[7mturned"] {
        assert!(seen.contains(part), "{seen:?}");
    }
}
