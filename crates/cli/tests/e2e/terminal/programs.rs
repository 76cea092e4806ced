//! Interactive programs: shells, pagers, editors.

use super::{screen, until_in_front};
use outlive_testkit::checks::{until_output, until_wrote};
use outlive_testkit::processes::is_alive;
use outlive_testkit::scripts::{numbers, ok, send_line};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;

/// Waits until the screen shows a text.
fn until_screen(world: &World, id: &str, text: &str) {
    until(&format!("the screen shows {text:?}"), || {
        world.ok(&["log", id, "--screen"]).contains(text)
    });
}

/// Starts an interactive shell whose prompt is `ready> `.
fn bash(world: &World) -> String {
    let args = ["run", "--pty", "--env", "PS1=ready> ", "--", "bash"];
    let id = ok(
        world,
        &[&args[..], &["--norc", "--noprofile", "-i"]].concat(),
    );
    until_wrote(world, &id, "ready> ");
    id
}

#[test]
fn control_c_interrupts_what_a_shell_runs_and_not_the_shell() {
    let world = World::new();
    let id = bash(&world);
    send_line(&world, &id, "sleep 100");
    let sleep = until_in_front(&world, "sleep");
    world.ok(&["send", &id, "--key", "C-c"]);
    until("sleep is gone", || !is_alive(sleep));
    send_line(&world, &id, "echo code=$?");
    until_wrote(&world, &id, "code=130\r\n");
    send_line(&world, &id, "exit 3");
    assert_eq!(world.wait(&id)["exit_code"], 3);
}

#[test]
fn a_shell_has_job_control() {
    let world = World::new();
    let id = bash(&world);
    send_line(&world, &id, "sleep 100");
    until_in_front(&world, "sleep");
    world.ok(&["send", &id, "--key", "C-z"]);
    until_wrote(&world, &id, "Stopped");
    send_line(&world, &id, "bg");
    send_line(&world, &id, "jobs -r");
    until_wrote(&world, &id, "Running");
    send_line(&world, &id, "fg");
    until_in_front(&world, "sleep");
    world.ok(&["send", &id, "--key", "C-c"]);
    send_line(&world, &id, "echo code=$?");
    until_wrote(&world, &id, "code=130\r\n");
}

#[test]
fn control_d_ends_what_reads_the_terminal() {
    let world = World::new();
    let id = ok(&world, &["run", "--pty", "--", "cat"]);
    send_line(&world, &id, "hello");
    until_output(&world, &id, "hello\r\nhello\r\n");
    world.ok(&["send", &id, "--key", "C-d"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    let id = ok(&world, &["run", "--pty", "--", "cat"]);
    world.ok(&["send", &id, "half a line", "--eof"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"half a linehalf a line");
}

#[test]
fn less_pages_and_quits() {
    let world = World::new();
    fs::write(world.path("numbers"), numbers(200)).unwrap();
    let file = world.path("numbers").display().to_string();
    let args = ["run", "--pty=10x80", "--env", "LESS=", "--", "less", &file];
    let id = ok(&world, &args);
    until_screen(&world, &id, "\n9\n");
    let top = |id: &str| {
        let text = screen(&world, id)["text"].as_str().unwrap().to_owned();
        text.lines().take(9).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(top(&id), "1 2 3 4 5 6 7 8 9");
    world.ok(&["send", &id, "--key", "Space"]);
    until_screen(&world, &id, "\n18\n");
    assert_eq!(top(&id), "10 11 12 13 14 15 16 17 18");
    world.ok(&["send", &id, "--key", "Down"]);
    until_screen(&world, &id, "\n19\n");
    assert_eq!(top(&id), "11 12 13 14 15 16 17 18 19");
    assert_eq!(screen(&world, &id)["alternate"], true);
    world.ok(&["send", &id, "q"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

#[test]
fn vim_edits_and_writes_a_file() {
    let world = World::new();
    let file = world.path("text").display().to_string();
    let id = ok(
        &world,
        &["run", "--pty=24x80", "--", "vim", "-u", "NONE", "-N", &file],
    );
    until_screen(&world, &id, "~");
    world.ok(&["send", &id, "ihello", "--key", "Esc"]);
    until_screen(&world, &id, "hello");
    world.ok(&["send", &id, ":wq", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(fs::read(world.path("text")).unwrap(), b"hello\n");
}

#[test]
fn top_shows_its_table_and_quits() {
    let world = World::new();
    let id = ok(
        &world,
        &["run", "--pty=24x100", "--", "top", "-d", "100", "-n", "9"],
    );
    until_screen(&world, &id, "PID");
    until_screen(&world, &id, "load average");
    world.ok(&["send", &id, "q"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

#[test]
fn python_answers() {
    needs!(Python);
    let world = World::new();
    let id = ok(&world, &["run", "--pty", "--", "/usr/bin/python3", "-i"]);
    until_wrote(&world, &id, ">>> ");
    send_line(&world, &id, "6*7");
    until_wrote(&world, &id, "\n42\r\n");
    send_line(&world, &id, "exit(4)");
    assert_eq!(world.wait(&id)["exit_code"], 4);
}
