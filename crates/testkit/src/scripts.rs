//! Jobs that tests have in common: scripts, and how they are started and let go on.

use crate::ran::Ran;
use crate::waiting::until;
use crate::world::World;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A job that says `up` and is deaf to TERM.
pub const IGNORES: &str = "trap '' TERM; echo up; exec sleep 60";

/// The beginning of a job that goes on when the test lets it.
pub const WAITS: &str = "until [ -e \"$GO\" ]; do sleep 0.02; done; ";

/// The file whose making lets a job go on that waits for `$GO`.
pub fn go(world: &World) -> PathBuf {
    world.path("go")
}

/// Lets the jobs go on that wait for `$GO`.
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

/// Starts a job with these options that says `up` once it is as it should be.
pub fn started(world: &World, options: &[&str], script: &str) -> String {
    let args = [&["run"], options, &["--shell", script]].concat();
    let id = world.ok(&args);
    until("the job is up", || count(world, &id, "up") > 0);
    id
}

/// How many lines of the output are this word.
pub fn count(world: &World, id: &str, word: &str) -> usize {
    let output = String::from_utf8_lossy(&world.output(id)).into_owned();
    output.lines().filter(|line| *line == word).count()
}

/// A job that runs for a minute.
pub fn sleeper(world: &World, options: &[&str]) -> String {
    world.ok(&[&["run"], options, &["--", "sleep", "60"]].concat())
}

/// A job that has ended, of which nothing is left and whose end was told.
pub fn over(world: &World, args: &[&str]) -> String {
    let id = world.ok(&[&["run"], args].concat());
    match world.show(&id)["session"].as_str() {
        Some(session) => drop(world.as_session(session, &["wait", &id])),
        None => drop(world.wait(&id)),
    }
    world.until_over(&id);
    id
}

/// A shell loop that goes on until the test makes this file.
pub fn loop_until(path: &Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.01; done", path.display())
}

/// What `seq 1 LAST` prints.
pub fn numbers(last: u32) -> Vec<u8> {
    (1..=last)
        .map(|n| format!("{n}\n"))
        .collect::<String>()
        .into()
}
