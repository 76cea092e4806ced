//! `list`: its order, its cost, its text, and damaged jobs, which do not hide others.

mod cost;
mod damage;
mod finding;
mod order;
mod output;
mod restart;
mod words;

use outlive_testkit::scripts::over;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

/// Makes this many ended jobs as copies of a real one. Returns their IDs in the order of their ends.
fn fabricate(world: &World, count: usize) -> Vec<String> {
    let model = ended(world, &[]);
    let directory = world.job_dir(&model);
    let spec = fs::read_to_string(directory.join("spec.json")).unwrap();
    let journal = fs::read(directory.join("journal")).unwrap();
    let ended = world.journal(&model).last().unwrap()["at"]["wall_ms"]
        .as_u64()
        .unwrap();
    let mut history = File::options().append(true).open(day(world)).unwrap();
    let mut lines = String::new();
    let mut ids = Vec::new();
    for n in 0..count {
        let id = format!("old{n:05}");
        let copy = world.job_dir(&id);
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("spec.json"), spec.replace(&model, &id)).unwrap();
        fs::write(
            copy.join("journal"),
            moved(&journal, ended, ended + 1 + n as u64),
        )
        .unwrap();
        lines.push_str(&format!("{} {id}\n", ended + 1 + n as u64));
        ids.push(id);
    }
    history.write_all(lines.as_bytes()).unwrap();
    ids
}

/// The journal with another time of the end.
fn moved(journal: &[u8], from: u64, to: u64) -> String {
    let text = std::str::from_utf8(journal).unwrap();
    text.replace(&format!("\"wall_ms\":{from}"), &format!("\"wall_ms\":{to}"))
}

/// The file with today's ends, the only one in `ended`.
fn day(world: &World) -> PathBuf {
    let mut days = fs::read_dir(world.home().join("ended")).unwrap();
    days.next().unwrap().unwrap().path()
}

#[track_caller]
fn assert_lists(world: &World, args: &[&str], expected: &[&String]) {
    let listed = world.listed(args);
    assert_eq!(listed.iter().collect::<Vec<_>>(), expected, "list {args:?}");
}

/// Runs a job to its end, until no process of it is left.
fn ended(world: &World, options: &[&str]) -> String {
    over(world, &[options, &["--", "true"]].concat())
}
