//! Jobs with a terminal of their own: keys, screens, sizes.

mod birth;
mod ending;
mod hangup;
mod hooks;
mod keys;
mod long_lines;
mod passwords;
mod programs;
mod resizing;
mod screens;
mod streams;
mod typing;

use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// The answer of `log --screen --json`.
fn screen(world: &World, id: &str) -> Value {
    world.json(&["log", id, "--screen", "--json"])
}

/// The bytes with `\r\n` as line ends, as a terminal writes them.
fn as_shown(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes)
        .replace('\n', "\r\n")
        .into_bytes()
}

/// The process group, session, terminal and foreground group of a process.
struct Standing {
    group: i64,
    session: i64,
    terminal: i64,
    foreground: i64,
}

fn standing(pid: i32) -> Option<Standing> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = text.rsplit_once(')')?;
    let numbers: Vec<i64> = after
        .split_whitespace()
        .skip(1)
        .filter_map(|field| field.parse().ok())
        .collect();
    Some(Standing {
        group: numbers[1],
        session: numbers[2],
        terminal: numbers[3],
        foreground: numbers[4],
    })
}

/// Waits until a program of this name is in the foreground of the terminal; returns its pid.
pub fn until_in_front(world: &World, name: &str) -> i32 {
    let mut found = None;
    until(&format!("{name} is in front"), || {
        found = world.processes().into_iter().find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
                && standing(*pid).is_some_and(|at| at.group == at.foreground)
        });
        found.is_some()
    });
    found.unwrap()
}
