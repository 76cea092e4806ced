//! The one writer of a wire: streams put frames here, and a thread writes them in order.
//!
//! Nobody waits here for the other side with one exception: data waits while much of it is queued already. Each
//! stream has room for so much data only, so a stream that the other side does not take from holds up no other one.

use outlive_core::wire::{Frame, Kind};
use outlive_sys::poll::{self, Interest};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Data waits while this much is queued.
const MAX_DATA: usize = 256 * 1024;

/// Whoever asks and asks without reading the answers loses the wire when this much is queued.
const MAX_QUEUED: usize = 1024 * 1024;

/// The wire or the stream is over: nobody waits for this any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over;

/// The frames that are to be written.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Whole frames.
    bytes: Vec<u8>,
    closed: bool,
}

impl Outbox {
    /// Queues a frame. Data waits until there is space.
    pub fn put(&self, frame: &Frame) -> Result<(), Over> {
        let mut queue = self.lock();
        while frame.kind == Kind::Data && queue.bytes.len() >= MAX_DATA && !queue.closed {
            queue = self.wait(queue);
        }
        queue.closed |= queue.bytes.len() > MAX_QUEUED;
        self.changed.notify_all();
        if queue.closed {
            return Err(Over);
        }
        queue.bytes.extend_from_slice(&frame.encode());
        Ok(())
    }

    /// Nothing more is written.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Writes what comes until the wire is closed or cannot be written to. What waits is one write.
    pub fn write_to(&self, output: &File) {
        while let Some(bytes) = self.next() {
            if write_all(output, &bytes).is_err() {
                return self.close();
            }
        }
    }

    fn next(&self) -> Option<Vec<u8>> {
        let mut queue = self.lock();
        while queue.bytes.is_empty() && !queue.closed {
            queue = self.wait(queue);
        }
        let bytes = std::mem::take(&mut queue.bytes);
        self.changed.notify_all();
        (!queue.closed).then_some(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let queue = self.changed.wait(queue);
        queue.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Also to a descriptor that somebody made non-blocking: it may be shared with whoever started us.
fn write_all(mut output: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match output.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                poll::wait(&[(output.as_fd(), Interest::Writable)], None)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
