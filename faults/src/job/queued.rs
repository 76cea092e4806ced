//! A job that has its turn in a queue after another one, and passes it on to a third.

use super::{ID, Kind, exited};
use outlive_testkit::waiting::try_until;
use outlive_testkit::world::World;
use std::fs;

/// It waits until the job before it has ended. The job behind it must have its turn, whatever happened to it.
pub const QUEUED: Kind = Kind {
    name: "queued",
    options: &["--queue", "q"],
    script: "echo hello; exit 3",
    drive: hand_on,
    output: || b"hello\n".to_vec(),
    streams: None,
    outcome: || exited(3),
    ended_by: "itself",
    told: &["ended"],
};

/// Whether this is the job before it or the one behind it.
pub fn is_helper(id: &str) -> bool {
    [BEFORE, BEHIND].contains(&id)
}

const BEFORE: &str = "before";
const BEHIND: &str = "behind";

/// Starts the job before it, which runs until the file `go` is there. If the job cannot be launched, nobody makes that
/// file, so it also ends after some seconds.
pub fn begin(world: &World) -> Result<(), String> {
    let go = world.path("go");
    let script = format!(
        "n=0; until [ -e '{}' ] || [ $n = 300 ]; do sleep 0.01; n=$((n + 1)); done",
        go.display()
    );
    let args = ["run", "--id", BEFORE, "--queue", "q:1", "--shell", &script];
    world.try_ok(&args).map(drop)
}

fn hand_on(world: &World) -> Result<(), String> {
    world.try_ok(&["run", "--id", BEHIND, "--queue", "q", "--", "true"])?;
    fs::write(world.path("go"), "").map_err(|error| error.to_string())?;
    for id in [BEFORE, BEHIND] {
        let ended = world.try_json(&["wait", id, "--timeout", "60s", "--json"])?;
        let outcome = &ended["jobs"][0]["outcome"];
        if *outcome != exited(0) {
            return Err(format!("the job {id} of its queue: {outcome}"));
        }
    }
    not_at_once(world)?;
    left_the_queue(world)
}

/// It did not run beside the job behind it. If its launcher was killed, that one may have joined first.
fn not_at_once(world: &World) -> Result<(), String> {
    let at = |id: &str, kind: &str| {
        let happened = !world.events(id, kind).is_empty();
        happened.then(|| world.boot_ms(id, kind))
    };
    let times = |id| Some((at(id, "spawned")?, at(id, "ended")?));
    match (times(ID), times(BEHIND)) {
        (Some((began, ended)), Some((next_began, next_ended)))
            if next_began < ended && began < next_ended =>
        {
            Err("two jobs of the queue ran at once".to_owned())
        }
        _ => Ok(()),
    }
}

fn left_the_queue(world: &World) -> Result<(), String> {
    let directory = world.home().join("queues/q");
    try_until("the jobs behind and before it have left the queue", || {
        let Ok(entries) = fs::read_dir(&directory) else {
            return false;
        };
        let names = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        !names
            .into_iter()
            .any(|name| name.ends_with(BEFORE) || name.ends_with(BEHIND))
    })
}
