//! `prune` removes what it may remove, and nothing else.

mod choice;
mod concurrent;
mod remains;
mod running;
mod untold;

use outlive_testkit::scripts::over;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The IDs of the jobs that a prune with these options removes.
fn removed(world: &World, args: &[&str]) -> Vec<String> {
    let answer = world.json(&[&["prune", "--json"], args].concat());
    texts(&answer["removed"])
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap();
    list.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

/// An ended job of a session that has not been told of the end.
fn untold(world: &World, options: &[&str]) -> String {
    let id = world.ok(&[&["run", "--session", "s"], options, &["--", "true"]].concat());
    world.until_over(&id);
    id
}

/// A job that ended this many milliseconds ago.
fn ended_ago(world: &World, ms: u64) -> String {
    let id = over(world, &["--", "true"]);
    set_wall(world, &id, |_, wall| wall - ms);
    id
}

/// Changes the times of a job's events, as if the job had run before the last restart of the machine.
pub fn set_wall(world: &World, id: &str, change: impl Fn(&str, u64) -> u64) {
    let mut text = String::new();
    for mut record in world.journal(id) {
        let kind = match record["event"].as_str() {
            Some(kind) => kind.to_owned(),
            None => record["event"]
                .as_object()
                .unwrap()
                .keys()
                .next()
                .unwrap()
                .clone(),
        };
        let wall = record["at"]["wall_ms"].as_u64().unwrap();
        record["at"]["wall_ms"] = json!(change(&kind, wall));
        // Ages within one boot do not depend on the wall clock, so the job gets another boot.
        if kind == "accepted" {
            record["event"]["accepted"]["boot"] = json!("an earlier one");
        }
        text.push_str(&format!("{record}\n"));
    }
    fs::write(world.job_dir(id).join("journal"), text).unwrap();
}

/// Sets the modification time of a directory, or of a link itself.
pub fn touch(path: &Path, when: &str) {
    let done = Command::new("touch")
        .args(["--no-dereference", "-d", when])
        .arg(path)
        .status()
        .unwrap();
    assert!(done.success());
}
