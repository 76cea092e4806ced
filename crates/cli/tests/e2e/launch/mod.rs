//! Launching: what `run` returns, when it returns, and what the job starts with.

mod birth;
mod cannot_start;
mod descendants;
mod environment;
mod ids;
mod killed_launcher;
mod launcher_signals;
mod long_paths;
mod nesting;
mod shell_strings;

use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const TTY: usize = 7;
const GROUP: usize = 5;
const SESSION: usize = 6;

/// A field of `/proc/PID/stat`, numbered as in proc(5).
fn stat_field(pid: i32, place: usize) -> i32 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = &text[text.rfind(')').unwrap() + 2..];
    rest.split(' ')
        .nth(place - 3)
        .and_then(|field| field.parse().ok())
        .unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// Writes a file with this mode.
fn file(world: &World, name: &str, content: &str, mode: u32) -> PathBuf {
    let path = world.path(name);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// Checks a job that could not start: that is recorded and reported, and no process is left.
fn assert_not_started(world: &World, ran: &Ran, id: &str, code: i32, reason: &str) {
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(ran.stderr.contains(reason), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let job = world.show(id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    let recorded = job["outcome"]["reason"].as_str().unwrap();
    assert!(recorded.contains(reason), "{job}");
    assert_eq!(job["exit_code"], code);
    assert_eq!(job["pid"], Value::Null);
    assert_eq!(world.events(id, "started").len(), 0);
    assert_eq!(world.events(id, "ended").len(), 1);
    assert_eq!(world.outlive(&["wait", id]).code, code);
    world.until_nothing_runs();
    assert!(!world.live(id).exists());
    assert_eq!(world.output(id), b"");
}

/// A bash script in which `$OUTLIVE` is the program.
fn from_bash(world: &World, script: &str) -> Command {
    with_outlive(world.within("bash", ["-c", script]))
}

/// The pids of leader, keeper and standby.
fn everyone(world: &World, id: &str) -> (i32, i32, i32) {
    let pair = world.pair(id);
    (world.leader(id), pair.keeper, pair.standby.unwrap())
}

/// Sets `$OUTLIVE` to the path of the program.
fn with_outlive(mut command: Command) -> Command {
    command.env("OUTLIVE", outlive_testkit::programs::outlive());
    command
}
