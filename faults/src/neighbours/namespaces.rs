//! One home used from two PID namespaces, like that of a container and its host.

use crate::invariants::{self, Allowed};
use crate::job::{ID, KINDS};
use crate::row::{Context, Row, Tried};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

pub fn rows() -> Vec<Row> {
    vec![Row {
        name: "neighbour: another PID namespace on one home",
        promise: "the other namespace sees the job as unreachable, never lost; its own sees it exactly",
        run,
    }]
}

struct Case(usize);

impl fmt::Display for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "a {} job", KINDS[self.0].name)
    }
}

fn run(context: &Context) -> Tried {
    if let Some(not_run) = Tried::unless_root() {
        return not_run;
    }
    context.try_cases((0..KINDS.len()).map(Case).collect(), KINDS.len(), |case| {
        let kind = &KINDS[case.0];
        let world = context.world()?;
        let started = Ran::try_of(&mut kind.start(&world))?;
        if started.code != 0 {
            return Err(format!("it could not be started: {started}"));
        }
        let is_over = AtomicBool::new(false);
        let (ended, told) = thread::scope(|scope| {
            let other = scope.spawn(|| interfere(&world, &is_over));
            // The job is still running here, unless it ends at once.
            let met = from_elsewhere(&world, &["show", ID, "--json"]);
            let ended = kind.go_on(&world);
            is_over.store(true, Ordering::Relaxed);
            let told = other.join().map_err(|_| "it panicked".to_owned());
            (ended, met.and_then(|met| judge(&met)).and(told.flatten()))
        });
        told?;
        invariants::check(&world, kind, &ended?, Allowed::Exact)
    })
}

/// Runs `outlive` in a PID namespace of its own.
fn from_elsewhere(world: &World, args: &[&str]) -> Result<Ran, String> {
    world.try_outlive_elsewhere(args)
}

/// Shows the job, waits for it and tries to stop it, from the other namespace, until it is over.
fn interfere(world: &World, is_over: &AtomicBool) -> Result<(), String> {
    while !is_over.load(Ordering::Relaxed) {
        judge(&from_elsewhere(world, &["show", ID, "--json"])?)?;
        let stopped = from_elsewhere(world, &["stop", ID])?;
        let is_right = match stopped.code {
            0 => stopped.stderr.contains("had already ended"),
            code => code == 125 && stopped.stderr.contains("kept on"),
        };
        if !is_right {
            return Err(format!("a stop from the other namespace gave {stopped}"));
        }
        for args in [
            &["list"][..],
            &["log", ID],
            &["wait", ID, "--timeout", "50ms"],
        ] {
            let ran = from_elsewhere(world, args)?;
            if ran.code == 125 {
                return Err(format!("outlive {args:?} failed there: {ran}"));
            }
        }
    }
    Ok(())
}

/// From the other namespace the job must be unreachable, or ended with a known outcome.
fn judge(ran: &Ran) -> Result<(), String> {
    let job: Value = serde_json::from_slice(&ran.bytes)
        .map_err(|error| format!("show printed no JSON ({error}): {ran}"))?;
    match job["state"].as_str() {
        Some("unreachable") => Ok(()),
        Some("ended") if job["outcome"]["kind"] != "lost" => Ok(()),
        _ => Err(format!("the other namespace shows {job}")),
    }
}
