//! A wall clock that jumps. Only our programs see it: debug builds read it through `OUTLIVE_WALL_JUMP`.

use super::write;
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::ops::Deref;
use std::process::Stdio;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: the wall clock jumps",
        promise: "timeouts, durations, claims and retention depend only on the time that passed",
        run,
    }]
}

const DAY: i64 = 24 * 60 * 60 * 1000;

/// The size of the jump in milliseconds. A jump to before 1970 stops at the smallest time that the clock has.
const JUMPS: [(&str, i64); 6] = [
    ("an hour back", -DAY / 24),
    ("an hour on", DAY / 24),
    ("ten days back", -10 * DAY),
    ("ten days on", 10 * DAY),
    ("to 1970", -40_000 * DAY),
    ("a hundred years on", 36_525 * DAY),
];

/// What is going on when the clock jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Timeout,
    Stop,
    Claim,
    Retention,
    Launches,
    Output,
}

const ACTIVITIES: [Activity; 6] = [
    Activity::Timeout,
    Activity::Stop,
    Activity::Claim,
    Activity::Retention,
    Activity::Launches,
    Activity::Output,
];

struct Case(usize, Activity);

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}, during {:?}", JUMPS[self.0].0, self.1)
    }
}

fn run(context: &Context) -> Tried {
    let cases = (0..JUMPS.len())
        .flat_map(|jump| ACTIVITIES.map(|during| Case(jump, during)))
        .collect();
    context.try_cases(cases, 12, |case| {
        let world = Jumping::new(context)?;
        world.jump(0)?;
        let by = JUMPS[case.0].1;
        match case.1 {
            Activity::Timeout => timeout(&world, by),
            Activity::Stop => stop(&world, by),
            Activity::Claim => claim(&world, by),
            Activity::Retention => retention(&world, by),
            Activity::Launches => launches(&world, by),
            Activity::Output => output(&world, by),
        }
    })
}

/// A world whose wall clock the test can change.
struct Jumping(World);

impl Deref for Jumping {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl Jumping {
    fn new(context: &Context) -> Result<Jumping, String> {
        let mut world = context.world()?;
        world.set("OUTLIVE_WALL_JUMP", world.path("jump"));
        Ok(Jumping(world))
    }

    fn jump(&self, by: i64) -> Result<(), String> {
        // Written with a rename, so that no reader sees a part of it.
        let (new, path) = (self.0.path("jump.new"), self.0.path("jump"));
        fs::write(&new, by.to_string())
            .and_then(|()| fs::rename(new, path))
            .map_err(|error| error.to_string())
    }

    fn wait(&self) -> Result<Value, String> {
        let wait = ["wait", "job", "--json", "--timeout", "30s"];
        let ran = Ran::try_of(&mut self.command(wait))?;
        match ran.job_or_null() {
            job if job["state"] == "ended" => Ok(job),
            _ => Err(format!("it has not ended: {ran}")),
        }
    }
}

/// Checks that the job lasted at least this long and not much longer, which allows for a busy machine.
fn lasted(job: &Value, at_least_ms: u64) -> Result<(), String> {
    match job["duration_ms"].as_u64() {
        Some(ms) if (at_least_ms..at_least_ms + 20_000).contains(&ms) => Ok(()),
        other => Err(format!("the recorded duration is {other:?} ms: {job}")),
    }
}

fn timeout(world: &Jumping, by: i64) -> Result<(), String> {
    world.try_ok(&[
        "run",
        "--id",
        "job",
        "--timeout",
        "700ms",
        "--",
        "sleep",
        "60",
    ])?;
    world.jump(by)?;
    let job = world.wait()?;
    if job["ended_by"] != "timeout" {
        return Err(format!("the job ended wrongly: {job}"));
    }
    lasted(&job, 700)
}

fn stop(world: &Jumping, by: i64) -> Result<(), String> {
    let script = "trap '' TERM; echo up; while :; do sleep 0.05; done";
    world.try_ok(&["run", "--id", "job", "--grace", "500ms", "--shell", script])?;
    super::until_written(&world.0, "job", "up")?;
    let mut stopping = world.command(["stop", "job", "--quiet"]);
    let stopping = stopping
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    world.jump(by)?;
    let job = world.wait()?;
    let stopped = stopping
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if !stopped.status.success() || job["outcome"]["signal"] != "SIGKILL" {
        return Err(format!("the job ended wrongly: {job}"));
    }
    lasted(&job, 500)
}

/// A claim lasts as long as it was asked for, whatever the clock says.
fn claim(world: &Jumping, by: i64) -> Result<(), String> {
    world.try_ok(&["run", "--id", "job", "--session", "s", "--", "true"])?;
    let events = |options: &[&str]| -> Result<usize, String> {
        let args = [&["inbox", "--session", "s", "--json"], options].concat();
        let inbox = world.try_json(&args)?;
        Ok(inbox["events"].as_array().map_or(0, Vec::len))
    };
    super::try_until("it has ended", || {
        world
            .0
            .all_events("job")
            .iter()
            .any(|(kind, _)| kind == "closed")
    })?;
    let first = events(&["--claim", "3s"])?;
    world.jump(by)?;
    // The claim of three seconds still holds here, even if a busy machine is two seconds late.
    let second = events(&["--claim", "1s"])?;
    let waited = events(&["--wait=20s", "--claim", "30s"])?;
    let last = events(&[])?;
    match (first, second, waited, last) {
        (1, 0, 1, 0) => Ok(()),
        other => Err(format!(
            "claimed at first, at once, after a while, at last: {other:?}"
        )),
    }
}

/// A job that ended just now does not count as old, however the clock jumped.
fn retention(world: &Jumping, by: i64) -> Result<(), String> {
    for id in ["a", "b"] {
        world.try_ok(&["run", "--wait", "--id", id, "--", "true"])?;
    }
    world.jump(by)?;
    world.try_ok(&["run", "--wait", "--id", "c", "--", "true"])?;
    world.try_ok(&["prune"])?;
    world.try_ok(&["prune", "--older-than", "30m"])?;
    let listed = world.try_json(&["list", "--state", "all", "--json"])?;
    let count = listed["jobs"].as_array().map_or(0, Vec::len);
    if count != 3 {
        return Err(format!("{count} of three are left: {listed}"));
    }
    world.try_ok(&["prune", "--older-than", "0s"])?;
    let listed = world.try_json(&["list", "--state", "all", "--json"])?;
    match listed["jobs"].as_array().map_or(0, Vec::len) {
        0 => Ok(()),
        _ => Err(format!(
            "jobs that are old enough were not removed: {listed}"
        )),
    }
}

/// Jobs that start while the clock jumps have different IDs, and all of them are listed.
fn launches(world: &Jumping, by: i64) -> Result<(), String> {
    let mut ids = Vec::new();
    for n in 0..8 {
        world.jump(if n % 2 == 0 { 0 } else { by })?;
        ids.push(world.try_ok(&["run", "--", "true"])?.text());
    }
    for id in &ids {
        let ran = Ran::try_of(&mut world.command(["wait", id, "--timeout", "30s"]))?;
        if ran.code != 0 {
            return Err(format!("{id}: {ran}"));
        }
    }
    let listed = world.try_json(&["list", "--state", "all", "--limit", "100", "--json"])?;
    let listed = listed["jobs"].as_array().map_or(0, Vec::len);
    ids.sort();
    ids.dedup();
    match (ids.len(), listed) {
        (8, 8) => Ok(()),
        other => Err(format!("ids and jobs listed of eight: {other:?}")),
    }
}

/// The output from before and after a jump is found, also with `--since` and `--timestamps`.
fn output(world: &Jumping, by: i64) -> Result<(), String> {
    let go = world.0.path("go");
    let script = format!(
        "echo before; until [ -e '{}' ]; do sleep 0.05; done; echo after",
        go.display()
    );
    world.try_ok(&["run", "--id", "job", "--shell", &script])?;
    super::until_written(&world.0, "job", "before")?;
    // Wait longer than a second, so that the next line gets a time of its own.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    world.jump(by)?;
    write(&go)?;
    world.wait()?;
    for (args, has) in [
        (&["log", "job", "--raw"][..], "before\nafter"),
        (&["log", "job", "--since", "10m"], "after"),
        (&["log", "job", "--timestamps"], "after"),
    ] {
        let log = world.try_ok(args)?;
        if !log.text().contains(has) {
            return Err(format!("{args:?} has no {has:?}: {log}"));
        }
    }
    Ok(())
}
