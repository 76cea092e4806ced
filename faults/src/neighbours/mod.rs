//! Hostile neighbours: jobs that attack their own keepers and records, and a machine that misbehaves.
//!
//! | module | owns |
//! |---|---|
//! | `killers` | jobs that kill every process they can find |
//! | `vandals` | jobs that damage the files of their own directory |
//! | `talkers` | the most difficult kinds of output, and descriptors used against their purpose |
//! | `bombs` | jobs that fork without end |
//! | `strangers` | pids that were reused |
//! | `namespaces` | the same home seen from another PID namespace |
//! | `clocks` | a wall clock that jumps |
//! | `frozen` | keepers and consumers that are suspended |
//! | `attrition` | one of the pair is killed again and again |

mod attrition;
mod bombs;
mod clocks;
mod frozen;
mod killers;
mod namespaces;
mod strangers;
mod talkers;
mod vandals;

use crate::row::Row;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;

pub fn rows() -> Vec<Row> {
    [
        killers::rows(),
        vandals::rows(),
        talkers::rows(),
        bombs::rows(),
        strangers::rows(),
        namespaces::rows(),
        clocks::rows(),
        frozen::rows(),
        attrition::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A job that runs beside the hostile one and must not be affected.
const BYSTANDER: &str = "bystander";

/// Starts the bystander: it writes a line, waits for a file, writes another line and ends with 9.
fn start_bystander(world: &World) -> Result<(), String> {
    let go = world.path("go-bystander");
    let script = format!(
        "echo one; until [ -e '{}' ]; do sleep 0.05; done; echo two; exit 9",
        go.display()
    );
    world
        .try_ok(&["run", "--id", BYSTANDER, "--shell", &script])
        .map(drop)
}

/// Lets the bystander end, and checks its outcome and output.
fn bystander_is_unharmed(world: &World) -> Result<(), String> {
    write(&world.path("go-bystander"))?;
    let ended = ended(world, BYSTANDER)?;
    let output = fs::read(world.job_dir(BYSTANDER).join("output")).unwrap_or_default();
    match (ended["outcome"]["code"].as_i64(), output.as_slice()) {
        (Some(9), b"one\ntwo\n") => Ok(()),
        _ => Err(format!("the bystander was harmed: {ended}, {output:?}")),
    }
}

fn write(path: &std::path::Path) -> Result<(), String> {
    fs::write(path, "").map_err(|error| format!("{}: {error}", path.display()))
}

/// Waits for the end of the job, and returns the job as `wait` prints it.
fn ended(world: &World, id: &str) -> Result<Value, String> {
    let ran = world.try_outlive(&["wait", id, "--json", "--timeout", "30s"])?;
    match ran.job_or_null() {
        job if job["state"] == "ended" => Ok(job),
        _ => Err(format!("wait did not tell of the end of {id}: {ran}")),
    }
}

fn output_of(world: &World, id: &str) -> Vec<u8> {
    fs::read(world.job_dir(id).join("output")).unwrap_or_default()
}

/// Waits until this text is in the output of the job.
fn until_written(world: &World, id: &str, text: &str) -> Result<(), String> {
    try_until(&format!("{id} writes {text:?}"), || {
        let output = output_of(world, id);
        output
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    })
}

/// The pids of the newest keeper and standby, as the journal says.
fn pair(world: &World, id: &str) -> (Option<i32>, Option<i32>) {
    let pid = |process: &Value| i32::try_from(process["pid"].as_i64()?).ok();
    let mut pair = (None, None);
    for (kind, data) in world.all_events(id) {
        match kind.as_str() {
            "kept" => pair = (pid(&data["keeper"]), pid(&data["standby"])),
            "new_standby" => pair.1 = pid(&data["standby"]),
            _ => {}
        }
    }
    pair
}

/// Checks that the verb succeeded, or failed with a reason. It must not crash.
fn is_clear(ran: &Ran, what: &str) -> Result<(), String> {
    let crashed = ran.stderr.contains("panicked") || ran.code >= 128;
    match !crashed && (ran.code == 0 || !ran.stderr.trim().is_empty() || !ran.bytes.is_empty()) {
        true => Ok(()),
        false => Err(format!("{what} is not clear: {ran}")),
    }
}
