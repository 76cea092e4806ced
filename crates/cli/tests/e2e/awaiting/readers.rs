//! A process that reads its input waits for data, whichever system call it uses.

use super::{PIPE, assert_awaits, shell, start};
use outlive_testkit::checks::until_output;
use outlive_testkit::world::World;
use serde_json::Value;
use std::process::Command;

#[test]
fn cat_waits_for_data() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "x", "--enter"]);
    until_output(&world, &id, "x\n");
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "--eof"]);
    let job = world.wait(&id);
    assert_eq!(job["awaiting_input"], false, "{job}");
    assert_eq!(job["input_kind"], Value::Null, "{job}");
}

#[test]
fn read_in_a_shell_waits_for_data() {
    let world = World::new();
    let id = start(&world, PIPE, &["sh", "-c", "read x; echo got $x"]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "it", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"got it\n");
}

/// Runs a Python program that must wait for data and then end with 0 once a line is sent.
fn python_waits_for_data(program: &str) {
    let world = World::new();
    let id = start(&world, PIPE, &["python3", "-c", program]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "x", "--enter"]);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 0, "{job}");
}

#[test]
fn input_in_python_waits_for_data() {
    needs!(Python);
    python_waits_for_data("assert input() == 'x'");
}

#[test]
fn select_waits_for_data() {
    needs!(Python);
    python_waits_for_data("import select; assert select.select([0], [], [])[0] == [0]");
}

#[test]
fn poll_waits_for_data() {
    needs!(Python);
    python_waits_for_data(
        "import select; p = select.poll(); p.register(0, select.POLLIN); assert p.poll()[0][0] == 0",
    );
}

#[test]
fn epoll_waits_for_data() {
    needs!(Python);
    python_waits_for_data(
        "import select; p = select.epoll(); p.register(0, select.EPOLLIN); assert p.poll()[0][0] == 0",
    );
}

/// `pv` and newer versions of `cat` read like this.
#[test]
fn splice_waits_for_data() {
    needs!(Python);
    python_waits_for_data("import os; r, w = os.pipe(); assert os.splice(0, w, 9) == 2");
}

/// An event loop with timers reads like this.
#[test]
fn a_poll_with_a_time_limit_waits_for_data() {
    needs!(Python);
    python_waits_for_data("import select; assert select.select([0], [], [], 60)[0] == [0]");
}

#[test]
fn a_thread_that_reads_while_another_sleeps_waits_for_data() {
    needs!(Python);
    python_waits_for_data(
        "import threading, time, os, sys
threading.Thread(target=lambda: (sys.stdin.readline(), os._exit(0))).start()
time.sleep(60)",
    );
}

#[test]
fn a_reader_of_a_duplicated_descriptor_waits_for_data() {
    needs!(Python);
    python_waits_for_data(
        "import os; fd = os.dup(0); os.close(0); assert os.read(fd, 9) == b'x\\n'",
    );
}

#[test]
fn node_waits_for_data() {
    if Command::new("node").arg("--version").output().is_err() {
        return;
    }
    let world = World::new();
    let program = "process.stdin.on('data', d => { process.stdout.write(d); process.exit(0); })";
    let id = start(&world, PIPE, &["node", "-e", program]);
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "x", "--enter"]);
    assert_eq!(world.wait(&id)["exit_code"], 0);
    assert_eq!(world.output(&id), b"x\n");
}

#[test]
fn a_grandchild_that_reads_waits_for_data() {
    let world = World::new();
    let id = shell(&world, PIPE, "(sh -c 'cat; :'; :); :");
    assert_awaits(&world, &id, "data");
}

#[test]
fn a_reader_in_another_session_waits_for_data() {
    let world = World::new();
    let id = shell(&world, PIPE, "setsid -f cat <&0; exec sleep 60");
    assert_awaits(&world, &id, "data");
}

#[test]
fn show_and_list_say_in_words_that_a_job_waits_for_input() {
    let world = World::new();
    let id = start(&world, PIPE, &["cat"]);
    assert_awaits(&world, &id, "data");
    for args in [&["show", &id][..], &["list"]] {
        let text = world.ok(args);
        assert!(text.contains("input"), "{text}");
    }
    let id = start(&world, PIPE, &["sleep", "60"]);
    let text = world.ok(&["show", &id]);
    assert!(!text.contains("input"), "{text}");
}
