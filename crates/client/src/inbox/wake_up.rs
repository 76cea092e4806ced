//! Wakes processes that wait for an inbox, without polling.
//!
//! A keeper notifies the processes that are connected to it about its own job. But no keeper can tell
//! that a new job was started or something was posted. So each waiting process creates a FIFO beside
//! the links of the inbox, and a process that adds a link writes to all of them. The waiting process
//! creates its FIFO first and reads the inbox afterwards, so it misses nothing in between.

use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::hooks::{self, ConsumerHook};
use crate::random;
use outlive_core::Label;
use outlive_core::layout::NEW;
use outlive_sys::capture;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// No job id begins with a dot.
const PREFIX: &str = ".bell-";

/// A waiter's FIFO. It is removed when this value is dropped.
#[derive(Debug)]
pub struct WakeUp {
    path: PathBuf,
    fifo: File,
}

impl WakeUp {
    /// Creates the FIFO under a temporary name, opens it and then renames it. So a FIFO with this name
    /// that nobody reads was left by a process that was killed.
    pub fn create(outlive: &Outlive, session: &Label) -> Result<WakeUp, Error> {
        outlive.prepare()?;
        let directory = outlive.home().inbox(session);
        let token = random::token()?;
        let new = directory.join(format!("{NEW}{token}"));
        let path = directory.join(format!("{PREFIX}{token}"));
        let failed = || Error::io("cannot make", &path);
        // A process that finds an inbox empty removes it, perhaps at this moment.
        loop {
            make_private(&directory)?;
            match capture::make_fifo(&new) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                other => break other.map_err(failed())?,
            }
        }
        hooks::reach_consumer(ConsumerHook::BellMade);
        // Open it for reading and writing, so that a writer that closes it does not end it.
        let fifo = capture::open_bell(&new).map_err(failed())?;
        fs::rename(&new, &path).map_err(failed())?;
        Ok(WakeUp { path, fifo })
    }

    /// Empties the FIFO, so that it becomes readable only at the next wake-up.
    pub fn quiet(&self) {
        let mut buffer = [0; 64];
        while (&self.fifo).read(&mut buffer).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for WakeUp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fifo.as_fd()
    }
}

impl Drop for WakeUp {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // Removes the directory if it is empty now.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// Wakes every process that waits for this inbox.
pub fn wake(outlive: &Outlive, session: &Label) {
    for path in wake_ups(&outlive.home().inbox(session)) {
        match capture::open_writer(&path) {
            // If the FIFO is full, the waiter wakes up anyway.
            Ok(mut fifo) => drop(fifo.write(b"!")),
            Err(error) => remove_if_unread(&path, &error),
        }
    }
}

/// Removes the FIFOs of killed waiters.
pub fn remove_unread(inbox: &Path) {
    for path in wake_ups(inbox) {
        if let Err(error) = capture::open_writer(&path) {
            remove_if_unread(&path, &error);
        }
    }
}

fn wake_ups(inbox: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(inbox) else {
        return Vec::new();
    };
    let is_wake_up = |name: &str| name.starts_with(PREFIX);
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_wake_up))
        .map(|entry| entry.path())
        .collect()
}

/// Removes a FIFO that nobody reads. Opening it may fail for other reasons too.
fn remove_if_unread(path: &Path, error: &io::Error) {
    if capture::is_unheard(error) {
        let _ = fs::remove_file(path);
    }
}
