//! The frames that one side of a wire sends, whole and in order.
//!
//! Whoever has a frame writes it, if nothing waits and the carrier takes it at once. Otherwise it is queued, and the thread
//! of [`work`](Outbox::work) writes it. So a short call does not wait until another thread has woken up, which took a
//! tenth of its time, and nobody waits for a slow carrier, with one exception: [`put_data`](Outbox::put_data) waits
//! while much is queued already. Each stream has room for so much data only, so a stream that the other side does not
//! take from holds up no other one.

use outlive_sys::poll::{self, Interest};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Data waits while this much is queued.
const MAX_DATA: usize = 256 * 1024;

/// A carrier that is ready takes this much without waiting (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// The wire or the stream is over: nobody waits for this any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over;

/// The frames that are to be written.
#[derive(Debug)]
pub struct Outbox {
    /// When this much is queued, the other side does not read, and the wire is closed.
    limit: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug)]
struct Queue {
    /// Whole frames, and the rest of one that was begun.
    bytes: Vec<u8>,
    /// The thread writes what it took out of the queue.
    is_writing: bool,
    is_flooded: bool,
    /// `None` once nothing more is written.
    carrier: Option<Arc<File>>,
}

impl Outbox {
    /// Writes to this carrier.
    pub fn new(carrier: File, limit: usize) -> Outbox {
        Outbox {
            limit,
            queue: Mutex::new(Queue {
                bytes: Vec::new(),
                is_writing: false,
                is_flooded: false,
                carrier: Some(Arc::new(carrier)),
            }),
            changed: Condvar::new(),
        }
    }

    /// Sends whole frames. Never waits.
    pub fn put(&self, frames: &[u8]) -> Result<(), Over> {
        self.add(self.lock(), frames)
    }

    /// Sends frames of data. Waits while much is queued.
    pub fn put_data(&self, frames: &[u8]) -> Result<(), Over> {
        let is_full = |queue: &mut Queue| queue.bytes.len() >= MAX_DATA && queue.carrier.is_some();
        let waited = self.changed.wait_while(self.lock(), is_full);
        self.add(waited.unwrap_or_else(PoisonError::into_inner), frames)
    }

    /// Sends a sign of life, which any frame that waits is, too. So one that pings and does not read fills nothing.
    pub fn put_if_idle(&self, frame: &[u8]) {
        let queue = self.lock();
        if queue.bytes.is_empty() {
            let _ = self.add(queue, frame);
        }
    }

    fn add(&self, mut queue: MutexGuard<'_, Queue>, frames: &[u8]) -> Result<(), Over> {
        let written = match &queue.carrier {
            None => return Err(Over),
            Some(_) if queue.bytes.len() > self.limit => {
                queue.is_flooded = true;
                return Err(self.close_queue(queue));
            }
            Some(_) if queue.is_writing || !queue.bytes.is_empty() => Ok(0),
            Some(carrier) => write_now(carrier, frames),
        };
        let Ok(written) = written else {
            return Err(self.close_queue(queue));
        };
        if written < frames.len() {
            queue.bytes.extend_from_slice(&frames[written..]);
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Nothing more is written.
    pub fn close(&self) {
        self.close_queue(self.lock());
    }

    fn close_queue(&self, mut queue: MutexGuard<'_, Queue>) -> Over {
        queue.carrier = None;
        queue.bytes = Vec::new();
        self.changed.notify_all();
        Over
    }

    pub fn is_closed(&self) -> bool {
        self.lock().carrier.is_none()
    }

    /// Whether it was closed because the other side does not read.
    pub fn is_flooded(&self) -> bool {
        self.lock().is_flooded
    }

    #[cfg(test)]
    pub fn queued(&self) -> usize {
        self.lock().bytes.len()
    }

    /// Writes what is queued until the wire is closed or cannot be written to. What waits is one write.
    pub fn work(&self) {
        while let Some((carrier, bytes)) = self.next() {
            if write_all(&carrier, &bytes).is_err() {
                return self.close();
            }
        }
    }

    fn next(&self) -> Option<(Arc<File>, Vec<u8>)> {
        let mut queue = self.lock();
        queue.is_writing = false;
        let is_idle = |queue: &mut Queue| queue.bytes.is_empty() && queue.carrier.is_some();
        let waited = self.changed.wait_while(queue, is_idle);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let carrier = Arc::clone(queue.carrier.as_ref()?);
        queue.is_writing = true;
        // There is space for data again.
        self.changed.notify_all();
        Some((carrier, std::mem::take(&mut queue.bytes)))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes what the carrier takes without waiting. Returns how much that is.
fn write_now(mut carrier: &File, bytes: &[u8]) -> io::Result<usize> {
    if bytes.len() > AT_ONCE || !is_writable(carrier, Some(Duration::ZERO))? {
        return Ok(0);
    }
    match carrier.write(bytes) {
        Err(error) if is_passing(&error) => Ok(0),
        other => other,
    }
}

/// Also to a descriptor that somebody made non-blocking: it may be shared with whoever started us.
fn write_all(mut carrier: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match carrier.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if is_passing(&error) => drop(is_writable(carrier, None)?),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_writable(carrier: &File, limit: Option<Duration>) -> io::Result<bool> {
    Ok(poll::wait(&[(carrier.as_fd(), Interest::Writable)], limit)? == [true])
}

fn is_passing(error: &io::Error) -> bool {
    [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::io::{PipeReader, Read};
    use std::os::fd::OwnedFd;

    fn outbox(limit: usize) -> (Outbox, PipeReader) {
        let (there, here) = io::pipe().unwrap();
        (Outbox::new(File::from(OwnedFd::from(here)), limit), there)
    }

    /// Fills the carrier until it takes nothing more. Returns how much that was.
    fn fill(outbox: &Outbox) -> usize {
        let mut count = 0;
        while outbox.queued() == 0 {
            outbox.put(&[b'x'; AT_ONCE]).unwrap();
            count += AT_ONCE;
        }
        count
    }

    #[test]
    fn a_frame_is_written_by_whoever_has_it() {
        let (outbox, mut there) = outbox(usize::MAX);
        outbox.put(b"frame").unwrap();
        let mut read = [0; 16];
        assert_eq!(there.read(&mut read).unwrap(), 5);
    }

    #[test]
    fn what_the_carrier_does_not_take_comes_later_and_in_order() {
        let (outbox, mut there) = outbox(usize::MAX);
        let begun = fill(&outbox);
        outbox.put(b"first").unwrap();
        outbox.put_data(&vec![b'd'; 2 * AT_ONCE]).unwrap();
        outbox.put(b"last").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| outbox.work());
            let mut read = vec![0; begun + 5 + 2 * AT_ONCE + 4];
            there.read_exact(&mut read).unwrap();
            let rest = &read[begun..];
            assert!(rest.starts_with(b"first") && rest.ends_with(b"dlast"));
            outbox.close();
        });
    }

    #[test]
    fn signs_of_life_fill_nothing() {
        let (outbox, _there) = outbox(usize::MAX);
        fill(&outbox);
        let queued = outbox.queued();
        for _ in 0..1000 {
            outbox.put_if_idle(b"pong");
        }
        assert_eq!(outbox.queued(), queued);
    }

    #[test]
    fn who_does_not_read_loses_the_wire() {
        let (outbox, _there) = outbox(100);
        fill(&outbox);
        assert_eq!(outbox.put(b"x"), Err(Over), "too much is queued");
        assert!(outbox.is_closed() && outbox.is_flooded());
    }

    #[test]
    fn a_carrier_that_is_gone_closes_the_wire() {
        let (outbox, there) = outbox(usize::MAX);
        drop(there);
        assert_eq!(outbox.put(b"x"), Err(Over));
        assert_eq!(outbox.put_data(b"x"), Err(Over));
        assert!(outbox.is_closed());
    }
}
