//! Input is not written to the disk, and no FIFO is left behind.

use super::{assert_no_fifo, end_input, reader};
use outlive_testkit::checks::assert_nothing_is_left;
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::{WAITS, let_go, send_line};
use outlive_testkit::world::World;
use std::fs;
use std::path::{Path, PathBuf};

/// Waits until the job waits for input.
fn until_awaiting(world: &World, id: &str) {
    let ran = world.outlive(&["wait", id, "--for", "input", "--timeout", "20s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Every file below a directory.
fn files(below: &Path) -> Vec<PathBuf> {
    fs::read_dir(below)
        .unwrap()
        .flatten()
        .flat_map(|entry| match entry.file_type().unwrap() {
            kind if kind.is_dir() => files(&entry.path()),
            kind if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

fn assert_not_on_disk(world: &World, secret: &str) {
    let all = files(&world.home());
    assert!(all.len() >= 3, "{all:?}");
    for path in all {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(secret), "{}", path.display());
    }
}

#[test]
fn nothing_that_is_sent_is_written_to_disk() {
    let world = World::new();
    let secret = "hunter2-0xdecaf";
    let id = reader(&world, &format!("{WAITS}read x; exit 0"));
    send_line(&world, &id, secret);
    assert_not_on_disk(&world, secret);
    kill_for_good(world.pair(&id).keeper);
    send_line(&world, &id, secret);
    assert_not_on_disk(&world, secret);
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_nothing_is_left(&world, &id);
    assert_not_on_disk(&world, secret);
}

#[test]
fn no_fifo_is_left_behind() {
    let world = World::new();
    let by_itself = reader(&world, "exec cat");
    end_input(&world, &by_itself);
    let stopped = reader(&world, "exec cat");
    until_awaiting(&world, &stopped);
    world.ok(&["stop", &stopped]);
    let ran = world.outlive(&["run", "--id", "none", "--stdin", "pipe", "--", "/no/such"]);
    assert_eq!(ran.code, 127, "{ran:?}");
    for id in [by_itself.as_str(), &stopped, "none"] {
        assert_nothing_is_left(&world, id);
        assert_no_fifo(&world, id);
    }
}
