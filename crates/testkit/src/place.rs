//! Where a job runs, as a test sees it.
//!
//! A test asks `outlive` on this machine and looks at what happens at the place. [`Local`] is this machine, and
//! [`places`](crate::places) has others. A test that uses nothing but [`World`](crate::world::World), its verbs and this
//! trait can be run at all of them.

use crate::processes::{self, Process};
use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a job runs.
///
/// Pids and paths are those of the place. They have no meaning on this machine.
pub trait Place: Debug + Send + Sync {
    /// The kind of place, as `--place` names it.
    fn name(&self) -> &str;

    /// Changes an `outlive` command so that its jobs run at this place. `scratch` is the directory of the test there.
    fn direct(&self, command: &mut Command, scratch: &Path);

    /// A directory at the place for the files of one test, whose own directory here is `here`.
    fn scratch(&self, here: &Path) -> io::Result<PathBuf>;

    /// Removes what [`Place::scratch`] made.
    fn remove_scratch(&self, scratch: &Path);

    /// The content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Creates a file with this content. A reader sees the whole content or no file.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// The process with this pid, unless it has ended.
    fn process(&self, pid: i32) -> Option<Process>;

    /// Sends a signal, if the process still runs; never to a later process with the same pid.
    fn signal(&self, process: Process, signal: i32);

    /// Every running process of the jobs of the test with this directory: keepers, leaders and descendants.
    fn processes(&self, scratch: &Path) -> Vec<Process>;
}

/// This machine.
#[derive(Clone, Copy, Debug)]
pub struct Local;

impl Place for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn direct(&self, _: &mut Command, _: &Path) {}

    fn scratch(&self, here: &Path) -> io::Result<PathBuf> {
        Ok(here.to_owned())
    }

    /// Nothing to do: it is the test's own directory, which is removed with the test.
    fn remove_scratch(&self, _: &Path) {}

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        write_whole(path, bytes)
    }

    fn process(&self, pid: i32) -> Option<Process> {
        Process::find(pid)
    }

    fn signal(&self, process: Process, signal: i32) {
        process.signal(signal);
    }

    /// The scratch directory is the test's own, which holds its home.
    fn processes(&self, scratch: &Path) -> Vec<Process> {
        processes_below(&scratch.join("home"))
    }
}

/// Creates a file on this machine. A reader sees the whole content or no file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    fs::write(&draft, bytes)?;
    fs::rename(draft, path)
}

/// Every running process of the jobs of a home on this machine.
pub(crate) fn processes_below(home: &Path) -> Vec<Process> {
    let pids = processes::of_jobs_in(&home.join("jobs"));
    pids.into_iter().filter_map(Process::find).collect()
}
