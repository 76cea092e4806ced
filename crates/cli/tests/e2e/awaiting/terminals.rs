//! Readers at a terminal: they wait for a line, a password or keys.

use super::{PTY, assert_awaits, assert_does_not_await, shell, start, until_ready};
use outlive_testkit::world::World;

#[test]
fn read_at_a_terminal_waits_for_a_line() {
    let world = World::new();
    let id = shell(&world, PTY, "read -p 'Name: ' x; echo \"hello $x\"");
    assert_awaits(&world, &id, "line");
    world.ok(&["send", &id, "you", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"Name: you\r\nhello you\r\n");
}

#[test]
fn read_without_echo_waits_for_a_password() {
    let world = World::new();
    let id = shell(&world, PTY, "read -s -p 'Password: ' x; echo; echo ${#x}");
    assert_awaits(&world, &id, "password");
    world.ok(&["send", &id, "secret", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"Password: \r\n6\r\n");
}

#[test]
fn getpass_in_python_waits_for_a_password_on_its_own_terminal() {
    needs!(Python);
    let world = World::new();
    let program = "import getpass; print(len(getpass.getpass()))";
    let id = start(&world, PTY, &["python3", "-c", program]);
    assert_awaits(&world, &id, "password");
    world.ok(&["send", &id, "secret", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert!(world.output(&id).ends_with(b"6\r\n"));
}

#[test]
fn a_process_that_opens_its_terminal_by_name_waits_for_a_line() {
    let world = World::new();
    let id = shell(
        &world,
        PTY,
        "exec </dev/null; read x </dev/tty; echo \"got $x\"",
    );
    assert_awaits(&world, &id, "line");
    world.ok(&["send", &id, "it", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
}

#[test]
fn an_interactive_shell_waits_for_keys_and_not_while_its_child_sleeps() {
    let world = World::new();
    let id = start(&world, PTY, &["bash", "--norc", "-i"]);
    assert_awaits(&world, &id, "keys");
    world.ok(&["send", &id, "echo rea''dy; sleep 60", "--enter"]);
    until_ready(&world, &id);
    assert_does_not_await(&world, &id);
    world.ok(&["send", &id, "--key", "C-c"]);
    assert_awaits(&world, &id, "keys");
    world.ok(&["send", &id, "exit 0", "--enter"]);
    assert_eq!(world.wait(&id)["state"], "ended");
}

#[test]
fn an_interactive_python_waits_for_keys() {
    needs!(Python);
    let world = World::new();
    let id = start(&world, PTY, &["python3", "-i", "-q"]);
    assert_awaits(&world, &id, "keys");
    world.ok(&["send", &id, "import sys; sys.exit(7)", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 7);
}
