//! What a job gets of its caller's environment, the defaults of the configuration, and the notes about commands that
//! detach themselves.

mod clean;
mod configured;
mod habits;
mod login;
mod withheld;

use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use std::collections::BTreeMap;
use std::fs;

/// Writes the configuration of this world.
fn configure(world: &World, text: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), text).unwrap();
}

/// The environment of a job that is started with these options, by a caller with these variables beside its own.
fn of_job(
    world: &World,
    options: &[&str],
    variables: &[(&str, &str)],
) -> (BTreeMap<String, String>, Ran) {
    let args = [&["run", "--wait"], options, &["--", "env", "-0"]].concat();
    let mut command = world.command(args);
    let ran = Ran::of(command.envs(variables.iter().copied()));
    assert_eq!(ran.code, 0, "{options:?}: {ran:?}");
    let lines = ran.stdout.split_terminator('\0');
    let pairs = lines.map(|line| line.split_once('=').unwrap());
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    (pairs.collect(), ran)
}

/// The environment that a process began with.
fn begun_with(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap();
    String::from_utf8_lossy(&bytes).replace('\0', "\n")
}
