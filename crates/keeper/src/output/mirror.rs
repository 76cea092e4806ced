//! The caller's own log: a copy of the output, appended to a file of the caller.
//!
//! From some byte of the output on, byte `n` goes to byte `base + n` of that file. Writing a byte twice to the same place
//! changes nothing. So a keeper that dies here loses nothing: its successor compares the file with the output, and
//! continues where they differ. If somebody else appends to the file, the base moves behind that, and this is journaled
//! first. The log is a convenience: if it cannot be written, the job is not delayed, and the output still has everything.
//! It is locked while the job is supervised, so that two jobs never write to the same log.

use crate::output::capture::Capture;
use outlive_core::event::Event;
use outlive_core::state::LogBase;
use outlive_core::{OutputFiles, Spec, State};
use outlive_sys::file;
use outlive_sys::lock::{self, LockResult};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const CHUNK: usize = 1024 * 1024;

/// The copy to the log.
#[derive(Debug)]
pub struct Mirror {
    log: File,
    base: u64,
    copied: u64,
}

/// Opens and locks the log that the spec names, for the pair to share.
pub fn open_log(spec: &Spec) -> io::Result<Option<File>> {
    let Some(path) = &spec.log else {
        return Ok(None);
    };
    let options = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path.as_path());
    let log = options?;
    // Only regular files have positions. /dev/null keeps nothing, so any number of jobs may write to it.
    if !log.metadata()?.is_file() {
        return Ok(Some(log));
    }
    match lock::take(log)? {
        LockResult::Acquired(lock) => Ok(Some(lock.into_file())),
        LockResult::Held => Err(io::Error::other("the log is being written by another job")),
    }
}

impl Mirror {
    /// Continues where a predecessor stopped, or begins. If it begins, it returns an event to journal.
    pub fn resume(
        log: File,
        state: &State,
        spec: &Spec,
        capture: &Capture,
    ) -> io::Result<(Mirror, Option<Event>)> {
        let size = log.metadata()?.len();
        let begun = state.log_base.is_none().then_some(Event::LogBase {
            offset: size,
            from: 0,
        });
        let LogBase { offset: base, from } = state.log_base.unwrap_or(LogBase {
            offset: size,
            from: 0,
        });
        // Dropped output was copied before it was dropped, as far as the log could take it. It cannot be compared any
        // more.
        let dropped = spec.dropped(capture.size()).end;
        let from = from.max(dropped.min(size.saturating_sub(base)));
        let copied = from + same_bytes(&log, base + from, capture.output(), from)?;
        Ok((Mirror { log, base, copied }, begun))
    }

    /// The log is complete. Another job may use it.
    pub fn release(&self) {
        // If this fails, the lock is released when this process and its standby have ended.
        let _ = lock::release(&self.log);
    }

    /// If somebody else has appended to the log since the last copy, moves the base behind that. Returns the event to
    /// journal before the next copy.
    pub fn step_behind_others(&mut self) -> io::Result<Option<Event>> {
        let end = self.base + self.copied;
        let size = self.log.metadata()?.len();
        if size <= end {
            return Ok(None);
        }
        self.base += size - end;
        Ok(Some(Event::LogBase {
            offset: self.base,
            from: self.copied,
        }))
    }

    /// Copies the output to the log, up to this size of the output.
    pub fn copy(&mut self, output: &OutputFiles, size: u64) -> io::Result<()> {
        while self.copied < size {
            let most = (size - self.copied).min(CHUNK as u64);
            match self.copy_some(output, most)? {
                0 => break,
                count => self.copied += count as u64,
            }
        }
        Ok(())
    }

    fn copy_some(&self, output: &OutputFiles, most: u64) -> io::Result<usize> {
        let to = self.base + self.copied;
        if let Some(span) = output.locate(self.copied)? {
            let most = most.min(span.max_len) as usize;
            match file::copy_range(&span.file, span.offset, &self.log, to, most)? {
                0 => {}
                count => return Ok(count),
            }
        }
        // Output that is not stored is copied as zeros, as if read from a hole.
        let mut buffer = vec![0; most.min(64 * 1024) as usize];
        let count = output.read_at(&mut buffer, self.copied)?;
        self.log.write_all_at(&buffer[..count], to)?;
        Ok(count)
    }
}

/// How many bytes the file and the output have in common from these positions on.
fn same_bytes(a: &File, mut at_a: u64, b: &OutputFiles, mut at_b: u64) -> io::Result<u64> {
    let (mut bytes_a, mut bytes_b) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut same = 0;
    loop {
        let count = a
            .read_at(&mut bytes_a, at_a)?
            .min(b.read_at(&mut bytes_b, at_b)?);
        let pairs = bytes_a[..count].iter().zip(&bytes_b[..count]);
        let alike = pairs.take_while(|(a, b)| a == b).count();
        same += alike as u64;
        if count == 0 || alike < count {
            return Ok(same);
        }
        at_a += count as u64;
        at_b += count as u64;
    }
}
