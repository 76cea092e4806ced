//! What is to be written to a wire. Whoever puts a frame here never waits.

use outlive_core::wire::WINDOW;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most bytes that wait to be written. Each stream has little room, so only a far end that gives room for what it has
/// not read gets there.
const MAX_QUEUED: usize = 64 << 20;

/// The frames that are to be written.
#[derive(Default)]
pub struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    is_flooded: bool,
    is_closed: bool,
}

impl Outbox {
    /// Returns `false` if too much waits already.
    pub fn put(&self, frame: Vec<u8>) -> bool {
        let mut queue = self.lock();
        queue.is_flooded |= queue.bytes > MAX_QUEUED;
        if !queue.is_closed && !queue.is_flooded {
            queue.push(frame);
            self.changed.notify_one();
        }
        !queue.is_flooded
    }

    pub fn is_flooded(&self) -> bool {
        self.lock().is_flooded
    }

    /// Puts a sign of life, which any frame that waits is, too. So a far end that pings and does not read fills nothing.
    pub fn put_if_idle(&self, frame: Vec<u8>) {
        let mut queue = self.lock();
        if !queue.is_closed && queue.frames.is_empty() {
            queue.push(frame);
            self.changed.notify_one();
        }
    }

    /// All that waits, up to the size of a few frames. `None` when the wire is over.
    pub fn next(&self) -> Option<Vec<u8>> {
        let queue = self.lock();
        let waits = |queue: &mut Queue| queue.frames.is_empty() && !queue.is_closed;
        let waited = self.changed.wait_while(queue, waits);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let mut bytes = queue.frames.pop_front().filter(|_| !queue.is_closed)?;
        while let Some(next) = queue.frames.front()
            && bytes.len() + next.len() <= WINDOW
        {
            bytes.extend_from_slice(next);
            queue.frames.pop_front();
        }
        queue.bytes -= bytes.len();
        Some(bytes)
    }

    pub fn close(&self) {
        let mut queue = self.lock();
        queue.is_closed = true;
        queue.frames.clear();
        queue.bytes = 0;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn push(&mut self, frame: Vec<u8>) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

    #[test]
    fn what_waits_is_bounded_and_what_is_written_makes_space() {
        let outbox = Outbox::default();
        let frame = vec![0; WINDOW];
        let mut queued = 0;
        while outbox.put(frame.clone()) {
            queued += frame.len();
            if queued == MAX_QUEUED {
                assert_eq!(outbox.next().unwrap().len(), WINDOW);
            }
        }
        assert_eq!(queued, MAX_QUEUED + 2 * WINDOW);
        assert!(outbox.is_flooded());
    }
}
