//! Waking those who wait for an inbox, without polling.
//!
//! What happens to a job its keeper tells, to whoever is connected to it. That a job was started, or
//! something posted, no keeper can tell: so each waiter hangs up a bell, a FIFO beside the links of the
//! inbox, and whoever adds a link rings them all. A waiter hangs up its bell first and looks then, so
//! nothing is missed in between.

use crate::error::Error;
use crate::hooks::{self, ConsumerHook};
use crate::outlive::{Outlive, make_private};
use crate::random;
use outlive_core::Label;
use outlive_sys::pipe;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// No source's id begins like this.
const PREFIX: &str = ".bell-";

/// A bell, hung up until this is dropped.
#[derive(Debug)]
pub struct Bell {
    path: PathBuf,
    fifo: File,
}

impl Bell {
    pub fn hang_up(outlive: &Outlive, session: &Label) -> Result<Bell, Error> {
        let directory = outlive.home().inbox(session);
        let path = directory.join(format!("{PREFIX}{}", random::token()?));
        let failed = || Error::io("cannot make", &path);
        // Whoever finds an inbox empty removes it, perhaps just now.
        loop {
            make_private(&directory)?;
            match pipe::make_fifo(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                other => break other.map_err(failed())?,
            }
        }
        hooks::reach_consumer(ConsumerHook::BellMade);
        // For both, so that a ringer that leaves does not end it.
        let fifo = pipe::open_bell(&path).map_err(failed())?;
        Ok(Bell { path, fifo })
    }

    /// Silences it until it is rung again.
    pub fn quiet(&self) {
        let mut buffer = [0; 64];
        while (&self.fifo).read(&mut buffer).is_ok_and(|count| count > 0) {}
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fifo.as_fd()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // Where it was the last thing there.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// Wakes everyone who waits for this inbox.
pub fn ring(outlive: &Outlive, session: &Label) {
    let Ok(entries) = fs::read_dir(outlive.home().inbox(session)) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            ring_one(&entry.path());
        }
    }
}

fn ring_one(path: &Path) {
    match pipe::open_writer(path) {
        // A full one rings already.
        Ok(mut fifo) => drop(fifo.write(b"!")),
        // Its waiter was killed.
        Err(_) => drop(fs::remove_file(path)),
    }
}
