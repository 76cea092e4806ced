//! The time to put `true` into the background.

use super::{floor, median_of, times};
use crate::BenchError;
use crate::clock::timed;
use crate::contender;
use crate::processes::reap;
use crate::report::Measured;
use crate::run::{Bench, Between};
use std::thread;
use std::time::Duration;

/// A contender may do more work after its launcher returned, such as recording the end. This pause
/// keeps that work out of the next contender's time.
pub const SETTLING: Duration = Duration::from_millis(10);

pub fn take(bench: &Bench) -> Result<Measured, BenchError> {
    let samples = bench.rounds(
        Between::Kept,
        contender::all(),
        bench.pick(200, 40),
        |one| {
            if let Some(why) = one.no_launch() {
                return Err(why.into());
            }
            let (ms, started) = timed(|| one.start(&["true"]));
            started?;
            thread::sleep(SETTLING);
            reap();
            Ok(ms)
        },
    );
    let mut measured = Measured::default();
    let ratio = median_of(&samples, "outlive").unwrap_or(f64::NAN) / floor(&samples);
    measured.verdict(
        "launch",
        "≤ 2.0x `setsid -f true`",
        format!("{ratio:.2}x"),
        ratio <= 2.0,
    );
    measured
        .tables
        .push(times("until `true` is started", &samples));
    measured.notes.push(
        "outlive, conmon and the Python registry return when the command runs, or report why it cannot. \
         pueue, task-spooler and nq return when the job is queued. The others return when they have forked."
            .into(),
    );
    Ok(measured)
}
