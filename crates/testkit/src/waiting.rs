//! Waiting until something outside the test is true: a process is gone, a file exists.

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits. What has not happened by then, even on a busy machine, never will.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// How often a condition is checked.
const INTERVAL: Duration = Duration::from_millis(2);

/// Waits until the condition holds; panics if it does not within [`PATIENCE`].
#[track_caller]
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    if let Err(reason) = try_until(what, condition) {
        panic!("{reason}");
    }
}

/// Waits until the condition holds; an error if it does not within [`PATIENCE`].
pub fn try_until(what: &str, condition: impl FnMut() -> bool) -> Result<(), String> {
    try_until_within(PATIENCE, what, condition)
}

/// Waits until the condition holds; an error if it does not within the limit.
pub fn try_until_within(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) -> Result<(), String> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > limit {
            let seconds = limit.as_secs();
            return Err(format!("waited {seconds} s, and still not true: {what}"));
        }
        thread::sleep(INTERVAL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_never_holds_is_named_after_the_limit() {
        let waited = try_until_within(Duration::from_millis(10), "pigs fly", || false);
        assert!(waited.unwrap_err().ends_with("pigs fly"));
    }

    #[test]
    fn a_condition_that_holds_is_not_waited_for() {
        let start = Instant::now();
        until("it holds", || true);
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
