//! `run --restart`: numbered attempts of one job, each with its exact outcome and its output, whatever is killed.

mod adopted;
mod attempts;
mod kills;
mod meanwhile;
mod stops;

use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

/// Notes each run of a script, and that no other run is under way: the file gets one line for a start and one for an
/// end. Nothing else may be noted in between.
const NOTED: &str = "echo start >> \"$RUNS\"; echo run; ";
const END: &str = "echo end >> \"$RUNS\"; ";

/// Starts a job with these options whose script may use `$RUNS` and `$GO`, with these hooks in its keepers.
fn start_with_hooks(world: &World, hooks: &str, options: &[&str], script: &str) -> Ran {
    let args = [&["run", "--id", "job"], options, &["--shell", script]].concat();
    let mut command = world.command(args);
    command
        .env("RUNS", world.path("runs"))
        .env("GO", world.path("go"));
    if !hooks.is_empty() {
        command.env("OUTLIVE_HOOKS", hooks);
    }
    Ran::of(&mut command)
}

fn start(world: &World, options: &[&str], script: &str) {
    let ran = start_with_hooks(world, "", options, script);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// What the runs noted.
fn runs(world: &World) -> Vec<String> {
    let noted = fs::read_to_string(world.path("runs")).unwrap_or_default();
    noted.lines().map(str::to_owned).collect()
}

/// The exit codes of the attempts, as `show` lists them.
fn codes(job: &Value) -> Vec<Option<i64>> {
    let attempts = job["attempts"].as_array().unwrap();
    attempts
        .iter()
        .map(|attempt| attempt["exit_code"].as_i64())
        .collect()
}
