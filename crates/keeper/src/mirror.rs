//! The caller's own log: a copy of the output, appended to a file of theirs.
//!
//! Byte `n` of the output goes to byte `base + n` of that file, where `base` was its size when the
//! job started. Writing a byte twice to its own place changes nothing, so a keeper that dies here
//! loses and doubles nothing. If somebody else appends to the file meanwhile, the base moves behind
//! what they wrote, and that is journaled. The log is a convenience: failing to write it never holds
//! up the job, and the output is the truth. It is locked, so that two jobs never write to one.

use outlive_core::event::Event;
use outlive_core::{Spec, State};
use outlive_sys::file;
use outlive_sys::lock::{self, Locked};
use std::fs::File;
use std::io;

const CHUNK: usize = 1024 * 1024;

/// The copy under way.
#[derive(Debug)]
pub struct Mirror {
    log: File,
    base: u64,
    copied: u64,
}

impl Mirror {
    /// Goes on with the log the spec names, if it names one and it can be opened.
    pub fn resume(spec: &Spec, state: &State) -> Option<(Mirror, Option<Event>)> {
        let path = spec.log.as_ref()?.as_path();
        let log = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .ok()?;
        let Ok(Locked::Mine(lock)) = lock::take(log) else {
            return None;
        };
        let log = lock.into_file();
        let size = log.metadata().ok()?.len();
        let base = state.log_base.unwrap_or(size);
        let begun = state
            .log_base
            .is_none()
            .then_some(Event::LogBase { offset: base });
        let copied = size.saturating_sub(base);
        Some((Mirror { log, base, copied }, begun))
    }

    /// Brings the log up to `size` bytes of the output. Says when the base had to move.
    pub fn copy(&mut self, output: &File, size: u64) -> io::Result<Option<Event>> {
        // A predecessor cannot have copied more than there is.
        self.copied = self.copied.min(size);
        let moved = self.step_behind_others()?;
        while self.copied < size {
            let most = (size - self.copied).min(CHUNK as u64) as usize;
            match file::copy_range(
                output,
                self.copied,
                &self.log,
                self.base + self.copied,
                most,
            )? {
                0 => break,
                count => self.copied += count as u64,
            }
        }
        Ok(moved)
    }

    fn step_behind_others(&mut self) -> io::Result<Option<Event>> {
        let end = self.base + self.copied;
        let size = self.log.metadata()?.len();
        if size <= end {
            return Ok(None);
        }
        self.base += size - end;
        Ok(Some(Event::LogBase { offset: self.base }))
    }
}
