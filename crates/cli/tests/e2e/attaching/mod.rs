//! `attach`: a person at a terminal, simulated with tmux.

mod flood;
mod job_ends;
mod leaving;
pub mod person;
mod pipes;
mod repainting;
mod typing;
mod viewers;

use outlive_testkit::processes::{STOP, kill, until_stopped};
use outlive_testkit::world::World;

/// A job that prints the size of its terminal and repeats the lines it reads.
const ANSWERS: &str =
    "echo up; while read -r line; do echo \"<$line> $(stty size)\"; done; echo over; exit 4";

fn is_running(world: &World, id: &str) -> bool {
    world.show(id)["state"] == "running"
}

/// Suspends a process until it is continued.
fn halt(pid: i32) {
    kill(pid, STOP);
    until_stopped(pid);
}
