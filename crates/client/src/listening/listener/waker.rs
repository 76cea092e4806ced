//! Ends the sleep of a listener from another thread.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes a listener. Copies of it wake the same one.
#[derive(Clone, Debug)]
pub struct Waker {
    pipe: Arc<PipeWriter>,
    is_rung: Arc<AtomicBool>,
}

/// The listener's end.
#[derive(Debug)]
pub(super) struct Woken {
    pipe: PipeReader,
    is_rung: Arc<AtomicBool>,
}

pub(super) fn pair() -> io::Result<(Waker, Woken)> {
    let (reader, writer) = io::pipe()?;
    let is_rung = Arc::new(AtomicBool::new(false));
    let waker = Waker {
        pipe: Arc::new(writer),
        is_rung: is_rung.clone(),
    };
    let woken = Woken {
        pipe: reader,
        is_rung,
    };
    Ok((waker, woken))
}

impl Waker {
    /// Wakes the listener, or keeps it from its next sleep.
    pub fn wake(&self) {
        // One byte is enough, and never blocks.
        if !self.is_rung.swap(true, Ordering::AcqRel) {
            let _ = (&*self.pipe).write(b"!");
        }
    }
}

impl Woken {
    /// A wake-up from here on ends another sleep. Its descriptor is readable.
    pub fn quiet(&mut self) {
        let _ = self.pipe.read(&mut [0; 8]);
        self.is_rung.store(false, Ordering::Release);
    }
}

impl AsFd for Woken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
