//! `stop`, `signal` and `--timeout`: the whole tree.

mod moving;
mod others;
mod outcome;
mod signal;
mod timeout;
mod tree;
mod words;

use outlive_testkit::gate::make_fifo;
use outlive_testkit::world::World;
use serde_json::Value;

/// Gives the script a descriptor 9 that never has input. A shell that reads from it sleeps without a child process,
/// and runs its traps at once.
fn with_silence(world: &World, script: &str) -> String {
    let silence = world.path("silence");
    if !silence.exists() {
        make_fifo(&silence);
    }
    format!("exec 9<>{}\n{script}", silence.display())
}

fn stopped(world: &World, id: &str) -> Value {
    world.job(&["stop", id, "--json"])
}

/// The time from the stop request to the end, in milliseconds.
fn grace_taken(world: &World, id: &str) -> u64 {
    world.boot_ms(id, "ended") - world.boot_ms(id, "stop_requested")
}
