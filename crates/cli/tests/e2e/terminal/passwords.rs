//! A typed password is neither shown nor stored.

use outlive_testkit::checks::{until_output, until_wrote};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::{on_terminal, send_line};
use outlive_testkit::world::World;
use std::fs;
use std::path::Path;

/// The files below a directory that contain these bytes.
fn files_with(directory: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files_with(&entry.path(), bytes));
        } else if kind.is_file() {
            let there = fs::read(entry.path()).unwrap();
            if there.windows(bytes.len()).any(|part| part == bytes) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_password_is_not_shown_and_is_in_no_file() {
    let world = World::new();
    let id = on_terminal(
        &world,
        "read -rsp 'Password: ' x; echo; echo ${#x}; read -r y",
    );
    until_wrote(&world, &id, "Password: ");
    world.ok(&["wait", &id, "--for", "input", "--timeout", "30s"]);
    send_line(&world, &id, "hunter2-xyzzy");
    until_output(&world, &id, "Password: \r\n13\r\n");
    assert_eq!(files_with(&world.home(), b"hunter2"), Vec::<String>::new());
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, "go on");
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(files_with(&world.home(), b"hunter2"), Vec::<String>::new());
    assert_eq!(files_with(&world.home(), b"go on").len(), 1);
}
