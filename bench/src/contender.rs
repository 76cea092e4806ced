//! The contenders: programs that can run a job in the background. They are Outlive, its peers, and no
//! supervisor at all.
//!
//! Each contender has a directory of its own while it takes part. If it cannot do something, it returns
//! the reason, which is printed in the table.

mod bare;
mod conmon;
mod outlive;
mod pueue;
mod python;
mod services;
mod supervisor;
mod terminals;
mod tsp;

use crate::BenchError;
use crate::run::Bench;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

pub use self::conmon::runtime;
pub use self::outlive::Outlive;

/// How a contender gets the output of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The job writes the file itself; the supervisor is not involved.
    ByTheJob,
    /// The supervisor reads the output and writes the file.
    BySupervisor,
}

impl Output {
    pub fn words(self) -> &'static str {
        match self {
            Output::ByTheJob => "the job itself",
            Output::BySupervisor => "its supervisor",
        }
    }
}

/// A process that ends when the job has ended and the contender has reported it.
pub type Waiting = Box<dyn FnOnce() -> Result<(), BenchError>>;

pub trait Contender {
    fn name(&self) -> &'static str;

    /// Starts a job. Returns the contender's own id of the job when the contender returns.
    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError>;

    /// Starts the same job this many times, as fast as it can.
    fn start_many(&mut self, argv: &[&str], count: usize) -> Result<(), BenchError> {
        (0..count).try_for_each(|_| self.start(argv).map(drop))
    }

    /// Starts a job whose output is kept. The job begins to write a moment later.
    fn start_captured(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        self.start(argv)
    }

    /// Why the time of `start` is not comparable, if so.
    fn no_launch(&self) -> Option<&'static str> {
        None
    }

    /// Which process writes the job's output to its file.
    fn output(&self) -> Result<Output, BenchError> {
        Err("it keeps no output".into())
    }

    /// Starts to wait for a job.
    fn wait(&mut self, _id: &str) -> Result<Waiting, BenchError> {
        Err("it has no command that waits".into())
    }

    /// Lists the jobs.
    fn list(&mut self) -> Result<(), BenchError> {
        Err("has no list".into())
    }

    /// Runs `true` this many times, at most `width` at once. Returns when every end is recorded.
    fn storm(&mut self, _jobs: usize, _width: usize) -> Result<(), BenchError> {
        Err("it cannot run several jobs at once and record how each ended".into())
    }
}

/// Prepares a contender in its directory.
type Make = fn(&Bench, PathBuf) -> Result<Box<dyn Contender>, BenchError>;

/// A contender that can be prepared.
pub struct Entry {
    pub name: &'static str,
    pub make: Make,
}

/// The baseline comes first: ratios refer to it.
pub const ENTRIES: [Entry; 14] = [
    bare::SETSID,
    outlive::ENTRY,
    bare::NOHUP,
    bare::DAEMONIZE,
    bare::NQ,
    tsp::ENTRY,
    terminals::DTACH,
    terminals::SCREEN,
    terminals::TMUX,
    conmon::ENTRY,
    services::S6,
    services::RUNIT,
    supervisor::ENTRY,
    pueue::ENTRY,
];

/// Measured like the others. We wrote it to represent the registries that agents have built in.
pub const PYTHON: Entry = python::ENTRY;

pub fn all() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().chain([&PYTHON])
}

/// The path of a program.
pub fn program(name: &str) -> Result<PathBuf, BenchError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|program| program.exists())
        .ok_or_else(|| format!("{name} is not installed"))
}

/// Runs a command that must succeed, and returns its output.
pub fn output_of(command: &mut Command) -> Result<String, BenchError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "{} {}: {}",
            command.get_program().display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// Starts a command whose end will be awaited.
pub fn waiting(command: &mut Command) -> Result<Waiting, BenchError> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    Ok(Box::new(move || {
        child.wait().map(drop).map_err(|error| error.to_string())
    }))
}

/// Does something this many times, in this many threads.
pub fn by_hands(
    jobs: usize,
    width: usize,
    each: impl Fn(usize) -> Result<(), BenchError> + Sync,
) -> Result<(), BenchError> {
    let each = &each;
    thread::scope(|scope| {
        let hands: Vec<_> = (0..width)
            .map(|hand| scope.spawn(move || (hand..jobs).step_by(width).try_for_each(each)))
            .collect();
        hands
            .into_iter()
            .try_for_each(|hand| hand.join().map_err(|_| "a hand panicked".to_owned())?)
    })
}

/// Writes a script that execs a command.
fn script(path: &Path, argv: &[&str]) -> Result<(), BenchError> {
    use std::os::unix::fs::PermissionsExt;
    let quoted: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
    let text = format!("#!/bin/sh\nexec {}\n", quoted.join(" "));
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Quotes text so that a shell reads it as one word.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Creates a directory, with its parents.
fn directory(path: PathBuf) -> Result<PathBuf, BenchError> {
    fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
