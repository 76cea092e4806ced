//! Adoption: after both keepers were killed the job goes on, and the next verb starts a new keeper.

mod going_on;
mod hooks;
mod lingering;
mod nested;
mod races;
mod strangers;

use outlive_testkit::processes::state_of;
use outlive_testkit::scripts::start;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// Starts a job and kills both its keepers.
fn unkept(world: &World, script: &str) -> String {
    let id = start(world, script);
    world.kill_both(&id);
    id
}

/// The pid of the job's leader, read from the journal. A verb would adopt the job.
pub fn leader(world: &World, id: &str) -> i32 {
    world.events(id, "spawned")[0]["leader"]["pid"]
        .as_i64()
        .unwrap() as i32
}

/// The pids of this home's keepers.
pub fn keepers(world: &World) -> Vec<i32> {
    let is_keeper = |pid: &i32| {
        fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path.ends_with("outlive-keeper"))
    };
    world.processes().into_iter().filter(is_keeper).collect()
}

/// The pids of this home's processes that run this program.
fn running(world: &World, program: &str) -> Vec<i32> {
    let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    world
        .processes()
        .into_iter()
        .filter(|pid| name(pid).trim_end() == program)
        .collect()
}

/// Changes an event in a journal that no keeper writes to.
pub fn rewrite(world: &World, id: &str, kind: &str, change: impl Fn(&mut Value)) {
    let path = world.job_dir(id).join("journal");
    let mut lines = world.journal(id);
    let line = lines
        .iter_mut()
        .find(|line| line["event"].get(kind).is_some());
    change(&mut line.unwrap()["event"][kind]);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).unwrap();
}

/// Waits until the `seq` of a job has filled its pipe.
fn until_pipe_is_full(world: &World) {
    until("the job waits at a full pipe", || {
        let seqs = running(world, "seq");
        seqs.iter().any(|pid| state_of(*pid) == Some(b'S'))
    });
}
