//! Waking those who wait for an inbox, without polling.
//!
//! What happens to a job its keeper tells, to whoever is connected to it. That a job was started, or
//! something posted, no keeper can tell: so each waiter hangs up a bell, a FIFO beside the links of the
//! inbox, and whoever adds a link rings them all. A waiter hangs up its bell first and looks then, so
//! nothing is missed in between.

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

/// No source's id begins like this.
const PREFIX: &str = ".bell-";

/// A bell, hung up until this is dropped.
#[derive(Debug)]
pub struct Bell {
    path: PathBuf,
    fifo: File,
}

impl Bell {
    /// Makes it under another name and hangs it up once it can be heard: so one that hangs and that
    /// nobody hears was left by somebody who was killed.
    pub fn hang_up(outlive: &Outlive, session: &Label) -> Result<Bell, Error> {
        let directory = outlive.home().inbox(session);
        let token = random::token()?;
        let new = directory.join(format!("{NEW}{token}"));
        let path = directory.join(format!("{PREFIX}{token}"));
        let failed = || Error::io("cannot make", &path);
        // Whoever finds an inbox empty removes it, perhaps just now.
        loop {
            make_private(&directory)?;
            match capture::make_fifo(&new) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                other => break other.map_err(failed())?,
            }
        }
        hooks::reach_consumer(ConsumerHook::BellMade);
        // For both, so that a ringer that leaves does not end it.
        let fifo = capture::open_bell(&new).map_err(failed())?;
        fs::rename(&new, &path).map_err(failed())?;
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
    for path in bells(&outlive.home().inbox(session)) {
        match capture::open_writer(&path) {
            // A full one rings already.
            Ok(mut fifo) => drop(fifo.write(b"!")),
            Err(error) => take_down(&path, &error),
        }
    }
}

/// Removes the bells of an inbox whose waiters were killed.
pub fn take_down_unheard(inbox: &Path) {
    for path in bells(inbox) {
        if let Err(error) = capture::open_writer(&path) {
            take_down(&path, &error);
        }
    }
}

fn bells(inbox: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(inbox) else {
        return Vec::new();
    };
    let is_bell = |name: &str| name.starts_with(PREFIX);
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_bell))
        .map(|entry| entry.path())
        .collect()
}

/// Only one that nobody hears: that it cannot be opened may have other reasons.
fn take_down(path: &Path, error: &io::Error) {
    if capture::is_unheard(error) {
        let _ = fs::remove_file(path);
    }
}
