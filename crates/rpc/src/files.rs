//! How many calls may be carried out at once, so that files can be opened for all of them.
//!
//! Connections to keepers take most descriptors. What is left is shared by the calls: where the hard limit on open files
//! is as low as the number of jobs that are followed, few of them run at a time.

use outlive::listening;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most files that a call has open at once, with its connections. Most need half of that.
const EACH: usize = 6;

/// What this process has open besides: its own pipes, what the desk reads, and reserved events.
const OTHERS: usize = 18;

/// More calls than this are never carried out at once.
const MOST: usize = 128;

/// The calls that are being carried out.
#[derive(Debug, Default)]
pub struct Files {
    calls: Mutex<usize>,
    fewer: Condvar,
    connections: AtomicUsize,
}

/// A call that is being carried out.
#[derive(Debug)]
pub struct Admitted<'a>(&'a Files);

impl Files {
    /// So many connections are open now.
    pub fn note_connections(&self, count: usize) {
        self.connections.store(count, Ordering::Relaxed);
    }

    /// Waits until there are enough descriptors for one more call.
    pub fn admit(&self) -> Admitted<'_> {
        let mut calls = self.calls();
        while *calls >= self.most(*calls + 1) {
            calls = self
                .fewer
                .wait(calls)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *calls += 1;
        Admitted(self)
    }

    /// How many calls there may be, if so many are wanted.
    fn most(&self, wanted: usize) -> usize {
        let others = OTHERS + self.connections.load(Ordering::Relaxed);
        let files = listening::open_file_limit(others + EACH * wanted);
        share(files.saturating_sub(others))
    }

    fn calls(&self) -> MutexGuard<'_, usize> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn share(free: usize) -> usize {
    (free / EACH).clamp(1, MOST)
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        *self.0.calls() -= 1;
        self.0.fewer.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_call_is_always_carried_out() {
        for (free, calls) in [(0, 1), (6, 1), (13, 2), (1 << 20, MOST)] {
            assert_eq!(share(free), calls, "{free}");
        }
    }
}
