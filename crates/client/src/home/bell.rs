//! FIFOs by which processes that wait are woken, without polling.
//!
//! A keeper notifies the processes that are connected to it about its own job. But no keeper can tell that a new job
//! was started, or that something was posted or removed. So each waiting process makes a FIFO, its bell, in a
//! directory that others know, and a process that has such news writes to all bells there. The waiting process makes
//! its bell first and reads afterwards, so it misses nothing in between.
//!
//! | directory | who rings | what is written |
//! |---|---|---|
//! | `inbox/<key>/` | who starts a job of the session, or posts to it | `!` |
//! | `bells/` | who starts, changes or removes any job, or posts | the id and a newline |

use crate::error::Error;
use crate::home::outlive::{Outlive, make_private};
use crate::hooks::{self, ConsumerHook};
use crate::random;
use outlive_core::JobId;
use outlive_core::layout::NEW;
use outlive_sys::capture;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// No job id begins with a dot.
const PREFIX: &str = ".bell-";

/// A FIFO holds 64 KiB. If so much was not read, writers may have found it full, and what they wrote is missing.
const MAY_BE_FULL: usize = 32 * 1024;

/// The FIFO of a process that waits. It is removed when this value is dropped.
#[derive(Debug)]
pub struct Bell {
    path: PathBuf,
    fifo: File,
}

/// What was written to a bell of the whole home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Something is new of these jobs or posts.
    For(Vec<JobId>),
    /// So much was written that some of it may be missing.
    ForAnything,
}

impl Bell {
    /// Creates the FIFO under a temporary name, opens it and then renames it. So a FIFO with this name
    /// that nobody reads was left by a process that was killed.
    pub fn create(outlive: &Outlive, directory: &Path) -> Result<Bell, Error> {
        outlive.prepare()?;
        let token = random::token()?;
        let new = directory.join(format!("{NEW}{token}"));
        let path = directory.join(format!("{PREFIX}{token}"));
        let failed = || Error::io("cannot make", &path);
        // A process that finds an inbox empty removes it, perhaps at this moment.
        loop {
            make_private(directory)?;
            match capture::make_fifo(&new) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => break other.map_err(failed())?,
            }
        }
        hooks::reach_consumer(ConsumerHook::BellMade);
        // Open it for reading and writing, so that a writer that closes it does not end it.
        let fifo = capture::open_bell(&new).map_err(failed())?;
        fs::rename(&new, &path).map_err(failed())?;
        Ok(Bell { path, fifo })
    }

    /// A bell that is rung for every job and post of the home.
    pub fn of_home(outlive: &Outlive) -> Result<Bell, Error> {
        Bell::create(outlive, &outlive.home().bells())
    }

    /// Empties the FIFO, so that it becomes readable only at the next wake-up.
    pub fn quiet(&self) {
        self.words();
    }

    /// Reads what was written to a bell of the home since the last time.
    pub fn heard(&self) -> Rung {
        let words = self.words();
        if words.len() >= MAY_BE_FULL {
            return Rung::ForAnything;
        }
        let ids = words.split(|byte| *byte == b'\n').filter_map(|word| {
            let word = str::from_utf8(word).ok()?;
            JobId::parse(word).ok()
        });
        let mut each = Vec::new();
        for id in ids {
            if !each.contains(&id) {
                each.push(id);
            }
        }
        Rung::For(each)
    }

    fn words(&self) -> Vec<u8> {
        let mut words = Vec::new();
        let mut buffer = [0; 1024];
        while let Ok(count) = (&self.fifo).read(&mut buffer)
            && count > 0
        {
            words.extend_from_slice(&buffer[..count]);
        }
        words
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
        // Removes the directory if it is empty now.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// Tells everybody who listens to the whole home that something is new of this job or post.
pub fn tell(outlive: &Outlive, id: &JobId) {
    ring(&outlive.home().bells(), format!("{id}\n").as_bytes());
}

/// Wakes every process that has a bell here. A write of so few bytes is one step.
pub fn ring(directory: &Path, word: &[u8]) {
    for path in bells(directory) {
        match capture::open_writer(&path) {
            // If the FIFO is full, the waiter wakes up anyway.
            Ok(mut fifo) => drop(fifo.write(word)),
            Err(error) => remove_if_unheard(&path, &error),
        }
    }
}

/// Removes the FIFOs of killed waiters.
pub fn remove_unheard(directory: &Path) {
    for path in bells(directory) {
        if let Err(error) = capture::open_writer(&path) {
            remove_if_unheard(&path, &error);
        }
    }
}

fn bells(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let is_bell = |name: &str| name.starts_with(PREFIX);
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_bell))
        .map(|entry| entry.path())
        .collect()
}

/// Removes a FIFO that nobody reads. Opening it may fail for other reasons too.
fn remove_if_unheard(path: &Path, error: &io::Error) {
    if capture::is_unheard(error) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_bell_hears_which_jobs_have_news_and_admits_when_it_may_have_missed_some() {
        let world = tempfile::tempdir().unwrap();
        let outlive = Outlive::open_at(world.path().join("home")).unwrap();
        let bell = Bell::of_home(&outlive).unwrap();
        let id = |number: usize| JobId::parse(&format!("job-{number:05}")).unwrap();
        for number in [1, 2, 1] {
            tell(&outlive, &id(number));
        }
        assert_eq!(bell.heard(), Rung::For(vec![id(1), id(2)]));
        assert_eq!(bell.heard(), Rung::For(Vec::new()), "each once");
        // More than fits.
        (0..10_000).for_each(|number| tell(&outlive, &id(number)));
        assert_eq!(bell.heard(), Rung::ForAnything);
        drop(bell);
        assert!(!outlive.home().bells().exists(), "nothing is left behind");
    }
}
