//! Limits on what a job may use, running out of memory, and what a job uses while it runs.

mod bad_input;
mod killed;
mod memory;
mod others;
mod restarted;
mod usage;
mod without_groups;

use outlive_testkit::needs::not_run;
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// More than this job may have is what `tail /dev/zero` wants.
const LITTLE: [&str; 2] = ["--memory", "48M"];

/// The control groups that were made for a job.
fn groups(world: &World, id: &str) -> Vec<PathBuf> {
    let confined = world.events(id, "confined");
    let groups = confined.iter().flat_map(|confined| {
        let groups = confined["groups"].as_array();
        groups.into_iter().flatten().cloned().collect::<Vec<_>>()
    });
    groups
        .map(|group| group["directory"].as_str().unwrap().into())
        .collect()
}

/// Checks that a job had groups, and that none is left.
#[track_caller]
fn assert_groups_are_gone(world: &World, id: &str) {
    world.until_over(id);
    let groups = groups(world, id);
    assert!(!groups.is_empty(), "{id} had no group");
    for group in groups {
        assert!(!group.exists(), "{}", group.display());
    }
}

/// Whether control groups can be made here. Prints why not.
fn has_groups(world: &World) -> bool {
    let found = world.json(&["doctor", "--json"]);
    let checks = found["checks"].as_array().unwrap();
    let limits = checks.iter().find(|check| check["name"] == "job limits");
    limits.unwrap()["verdict"] == "good" || not_run("it needs control groups that can be written")
}

/// Runs a job with these options to its end; returns it.
fn limited(world: &World, options: &[&str], script: &str) -> Value {
    let ran = Ran::of(&mut world.command([&["run"], options, &["--shell", script]].concat()));
    assert_eq!(ran.code, 0, "{ran:?}");
    world.wait(&ran.text())
}

/// The groups that a process of the job was in, as it says itself.
fn was_inside(world: &World, id: &str) -> bool {
    let output = String::from_utf8_lossy(&world.output(id)).into_owned();
    let groups = groups(world, id);
    let mut names = groups.iter().filter_map(|group| group.file_name());
    !groups.is_empty() && names.all(|name| output.contains(name.to_str().unwrap()))
}

/// A number in a file of a group of the job.
fn counter(group: &std::path::Path, file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(group.join(file)).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line?.trim().parse().ok()
}
