//! Typed keys reach the job unchanged.

use super::person::Person;
use super::{ANSWERS, is_running};
use outlive_testkit::checks::{until_file, until_output, until_wrote};
use outlive_testkit::scripts::{go, numbers, on_terminal};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

#[test]
fn what_is_typed_reaches_the_job_and_its_output_shows() {
    let world = World::new();
    let id = on_terminal(&world, ANSWERS);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.enters("hello");
    person.until_sees("<hello>");
    assert_eq!(
        world.output(&id),
        b"up\r\nhello\r\n<hello> 30 100\r\n".to_vec()
    );
}

#[test]
fn every_key_goes_through_as_it_is() {
    let world = World::new();
    let script = "stty raw -echo; printf ready; exec cat > \"$GO\"";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    for key in ["C-c", "C-z", "C-d", "C-s", "C-q", "C-\\", "Tab", "Escape"] {
        person.presses(key);
    }
    person.types("é日");
    person.presses("Enter");
    let expected = "\x03\x1a\x04\x13\x11\x1c\t\x1bé日\r".as_bytes();
    until_file(&go(&world), expected);
    assert!(person.client().is_some());
}

#[test]
fn control_c_interrupts_the_job_s_program_and_not_the_client() {
    let world = World::new();
    let script = "trap 'echo interrupted' INT; echo up; while :; do sleep 0.02; done";
    let id = on_terminal(&world, script);
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    person.presses("C-c");
    person.until_sees("interrupted");
    assert!(person.client().is_some());
    assert!(is_running(&world, &id));
}

#[test]
fn only_keys_typed_before_leaving_reach_the_job() {
    let world = World::new();
    let script = "stty raw -echo; printf ready; exec cat > \"$GO\"";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    person.asks(&["send-keys", "a", "b", "C-]", "c", "d"]);
    person.until_sees(&format!("left {id}"));
    world.ok(&["send", &id, "END"]);
    until("the end arrived", || {
        fs::read(go(&world)).is_ok_and(|got| got.ends_with(b"END"))
    });
    assert_eq!(fs::read(go(&world)).unwrap(), b"abEND");
}

#[test]
fn a_viewer_s_keys_have_the_form_that_the_program_asked_for_before() {
    let world = World::new();
    let script =
        "stty raw -echo; printf '\\033[?1h\\033[?1002h\\033[?2004hready'; exec cat > \"$GO\"";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "ready");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "ready");
    assert_eq!(person.terminal("keypad_cursor_flag"), "1");
    assert_eq!(person.terminal("mouse_button_flag"), "1");
    person.presses("Up");
    person.asks(&["set-buffer", "pasted"]);
    person.asks(&["paste-buffer", "-p"]);
    let expected = b"\x1bOA\x1b[200~pasted\x1b[201~";
    until_file(&go(&world), expected);
}

#[test]
fn a_long_line_pasted_by_a_viewer_arrives_whole() {
    let world = World::new();
    let id = on_terminal(&world, "stty -echo; echo up; exec cat > \"$GO\"");
    until_output(&world, &id, "up\r\n");
    let person = Person::sits_down(&world);
    person.attaches("", &id, "up");
    let mut line = numbers(5000);
    line.retain(|byte| *byte != b'\n');
    fs::write(world.path("line"), &line).unwrap();
    person.asks(&["load-buffer", &world.path("line").display().to_string()]);
    person.asks(&["paste-buffer"]);
    person.presses("Enter");
    line.push(b'\n');
    until_file(&go(&world), &line);
}
