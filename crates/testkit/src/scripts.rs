//! Scripts of jobs that several tests use, and starting such jobs.

use crate::ran::Ran;
use crate::waiting::until;
use crate::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A job that prints `up` and ignores TERM.
pub const IGNORES: &str = "trap '' TERM; echo up; exec sleep 60";

/// The beginning of a script that waits until the test lets it continue.
pub const WAITS: &str = "until [ -e \"$GO\" ]; do sleep 0.02; done; ";

/// The file that a script waits for with `$GO`.
pub fn go(world: &World) -> PathBuf {
    world.path("go")
}

/// Lets the jobs continue that wait for `$GO`.
pub fn let_go(world: &World) {
    fs::write(go(world), "").unwrap();
}

/// `outlive` with `$GO` set for the jobs it starts.
pub fn with_go(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("GO", go(world));
    command
}

/// Runs `outlive` with `$GO` set for the jobs it starts; it must succeed. Returns what it printed.
pub fn ok(world: &World, args: &[&str]) -> String {
    let ran = Ran::of(&mut with_go(world, args));
    assert_eq!(ran.code, 0, "outlive {args:?}: {ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// Starts a job that may wait for `$GO`; returns its id.
pub fn start(world: &World, script: &str) -> String {
    ok(world, &["run", "--shell", script])
}

/// Starts a shell job on a terminal of the default size; returns its id.
pub fn on_terminal(world: &World, script: &str) -> String {
    ok(world, &["run", "--pty", "--shell", script])
}

/// Sends a job a line.
pub fn send_line(world: &World, id: &str, line: &str) {
    world.ok(&["send", id, line, "--enter"]);
}

/// Starts a job with these options. Its script prints `up` when it is ready, and this waits for that.
pub fn started(world: &World, options: &[&str], script: &str) -> String {
    let args = [&["run"], options, &["--shell", script]].concat();
    let id = world.ok(&args);
    until("the job is up", || count(world, &id, "up") > 0);
    id
}

/// How many lines of the output are exactly this word.
pub fn count(world: &World, id: &str, word: &str) -> usize {
    let output = String::from_utf8_lossy(&world.output(id)).into_owned();
    output.lines().filter(|line| *line == word).count()
}

/// Starts a job that sleeps for a minute.
pub fn sleeper(world: &World, options: &[&str]) -> String {
    world.ok(&[&["run"], options, &["--", "sleep", "60"]].concat())
}

/// Runs a job to its end, so that nothing is left of it and its end was told.
pub fn over(world: &World, args: &[&str]) -> String {
    let id = world.ok(&[&["run"], args].concat());
    match world.show(&id)["session"].as_str() {
        Some(session) => drop(world.as_session(session, &["wait", &id])),
        None => drop(world.wait(&id)),
    }
    world.until_over(&id);
    id
}

/// A shell loop that runs until the test creates this file.
pub fn loop_until(path: &Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.01; done", path.display())
}

/// The output of `seq 1 LAST`.
pub fn numbers(last: u32) -> Vec<u8> {
    (1..=last)
        .map(|n| format!("{n}\n"))
        .collect::<String>()
        .into()
}
