//! Ended jobs are removed by themselves, and only those that nobody can miss.

mod choice;
mod killed;
mod when;

use crate::pruning::{set_wall, touch};
use outlive_sys::lock::{self, LockResult};
use outlive_testkit::records::names_in;
use outlive_testkit::scripts::over;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn configure(world: &World, text: &str) {
    fs::create_dir_all(world.home()).unwrap();
    fs::write(world.home().join("config.toml"), text).unwrap();
}

/// A job that ended this many days ago, by its journal and by the list of ends.
fn ended_days_ago(world: &World, args: &[&str], days: u64) -> String {
    let id = over(world, args);
    age(world, &id, days);
    id
}

fn age(world: &World, id: &str, days: u64) {
    // A job whose keepers are still about to exit is left for the next pass.
    let lock = world.job_dir(id).join("lock");
    until("its keepers are gone", || {
        let file = File::options().read(true).write(true).open(&lock).unwrap();
        matches!(lock::take(file), Ok(LockResult::Acquired(_)))
    });
    set_wall(world, id, |_, wall| wall - days * DAY_MS);
    let directory = world.home().join("ended");
    for day in names_in(&directory) {
        let path = directory.join(&day);
        let text = fs::read_to_string(&path).unwrap();
        let own = |line: &&str| line.ends_with(&format!(" {id}"));
        let Some(line) = text.lines().find(own) else {
            continue;
        };
        let ended: u64 = line.split(' ').next().unwrap().parse().unwrap();
        let kept: Vec<&str> = text.lines().filter(|line| !own(line)).collect();
        fs::write(&path, kept.join("\n") + "\n").unwrap();
        let then = ended - days * DAY_MS;
        let path = directory.join((then / DAY_MS).to_string());
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        writeln!(file, "\n{then} {id}").unwrap();
        return;
    }
    panic!("{id} is not in the list of ends");
}

/// A job that ended so long ago and of which nothing is to be told.
fn old(world: &World, days: u64) -> String {
    ended_days_ago(world, &["--", "true"], days)
}

fn stamp(world: &World) -> PathBuf {
    world.home().join("retention")
}

/// Makes the next pass due.
fn make_due(world: &World) {
    touch(&stamp(world), "2 hours ago");
}

/// Starts a job when a pass is due; and more of them while a pass had to leave something, which happens on a busy
/// machine. Returns the id of the last job.
fn start(world: &World) -> String {
    loop {
        make_due(world);
        let id = over(world, &["--", "true"]);
        let last = fs::metadata(stamp(world)).unwrap().modified().unwrap();
        let age = last.elapsed().unwrap_or_default();
        let is_to_be_continued = age > Duration::from_secs(3000) && age < Duration::from_secs(3600);
        if !is_to_be_continued {
            return id;
        }
    }
}

fn exists(world: &World, id: &str) -> bool {
    world.job_dir(id).exists()
}

/// Which of these jobs exist.
fn existing<'a>(world: &World, ids: &'a [String]) -> Vec<&'a str> {
    let ids = ids.iter().map(String::as_str);
    ids.filter(|id| exists(world, id)).collect()
}
