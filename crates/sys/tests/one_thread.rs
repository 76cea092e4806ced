//! What only a process with one thread may do.
//!
//! The usual harness gives each test a thread of its own, so this one runs them itself, one after the other,
//! and answers what cargo and nextest ask of a harness.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it is a harness, and a test that cannot go on fails"
)]

use outlive_sys::child::fork;
use outlive_sys::file;
use outlive_sys::process::{self, Status, own, wait_for_child};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::process::Command;

const TESTS: [(&str, fn()); 5] = [
    ("a_forked_child_ends_with_its_code", ends_with_its_code),
    ("a_child_that_panics_runs_nothing_of_its_parent", panics),
    ("what_this_process_opened_stays_open", own_stay_open),
    ("what_was_inherited_is_closed", inherited_are_closed),
    ("the_exit_code_of_an_own_zombie_is_told", zombie_tells),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| args.iter().any(|arg| arg == word);
    if has("inheriting") {
        std::process::exit(count_after_taking());
    }
    // No test is ignored.
    let all = TESTS.iter().filter(|_| !has("--ignored"));
    if has("--list") {
        all.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let mut names = args.iter().filter(|arg| !arg.starts_with('-')).peekable();
    let asked: Vec<&String> = names.by_ref().collect();
    for (name, test) in all {
        if asked.is_empty() || asked.iter().any(|part| name.contains(part.as_str())) {
            test();
            println!("{name}: ok");
        }
    }
}

fn end_of(pid: i32) -> Status {
    wait_for_child(pid).unwrap()
}

fn ends_with_its_code() {
    let pid = fork(|| 7).unwrap();
    assert_eq!(end_of(pid), Status::Exited { code: 7 });
}

/// Says that it was dropped.
struct Drops<'a>(&'a File);

impl Drop for Drops<'_> {
    fn drop(&mut self) {
        self.0.write_all(b"dropped").unwrap();
    }
}

fn panics() {
    let mut said = file::in_memory("said").unwrap();
    let frame = Drops(&said);
    std::panic::set_hook(Box::new(|_| {}));
    let forked = fork(|| panic!("a test asked for it"));
    let _ = std::panic::take_hook();
    assert_eq!(end_of(forked.unwrap()), Status::Exited { code: 101 });
    std::mem::forget(frame);
    said.rewind().unwrap();
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    assert_eq!(text, "", "the child unwound into its parent's frames");
}

/// In a child, since it takes the standard streams.
fn own_stay_open() {
    let mut own = file::in_memory("own").unwrap();
    let pid = fork(|| {
        let taken = own::take_handed_down();
        i32::from(taken.is_err() || own.write_all(b"mine").is_err())
    });
    assert_eq!(end_of(pid.unwrap()), Status::Exited { code: 0 });
}

/// A shell hands two descriptors more down than it should.
fn inherited_are_closed() {
    let me = std::env::current_exe().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec 7<&0 9<&0; exec \"$0\" inheriting"]);
    let status = shell.arg(me).status().unwrap();
    assert_eq!(status.code(), Some(0), "both were to be closed");
}

/// How many of those are still there.
fn count_after_taking() -> i32 {
    let _taken = own::take_handed_down().unwrap();
    let is_open = |fd: &&i32| std::fs::exists(format!("/proc/self/fd/{fd}")).unwrap();
    [7, 9].iter().filter(is_open).count() as i32
}

/// And of nobody else: a process that runs has none, and a number may be another's by now.
fn zombie_tells() {
    let pid = fork(|| 0).unwrap();
    while !process::stat(pid).unwrap().is_zombie() {
        std::thread::yield_now();
    }
    let started = process::stat(pid).unwrap().started;
    assert!(process::tells_exit_code(pid, started));
    assert!(!process::tells_exit_code(pid, started + 1));
    let running = process::stat(own::pid()).unwrap().started;
    assert!(!process::tells_exit_code(own::pid(), running));
    assert_eq!(wait_for_child(pid).unwrap(), Status::Exited { code: 0 });
}
