//! One clock for the harness and the jobs that it starts.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// Nanoseconds of `CLOCK_MONOTONIC`, the same in every process.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns how long this took in milliseconds, and its result.
pub fn timed<T>(what: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let made = what();
    (start.elapsed().as_secs_f64() * 1e3, made)
}
