//! Starting a keeper.
//!
//! It gets the job directory as its only argument, the locked lock file as standard input and one
//! end of a pipe as standard output, through which it says that the start is decided.

use crate::environment;
use crate::error::Error;
use crate::hooks::{self, Hook};
use crate::outlive::Outlive;
use crate::scope;
use outlive_core::{JobDir, JobId};
use outlive_sys::lock::Lock;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

const PROGRAM: &str = "outlive-keeper";

/// What became of the keeper that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Ready,
    /// It ended first: the journal tells how far it came.
    Died,
}

/// Keepers started by this process that may have ended. They are let go when another is started, so
/// that a long-lived embedder gathers no zombies.
static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Starts a keeper that holds `lock` from here on, and waits until the start is decided.
pub fn start(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    variables: &[(OsString, OsString)],
) -> Result<Begun, Error> {
    let keeper = Keeper {
        job,
        id,
        variables,
        lock: lock.into_file(),
    };
    if let Some(manager) = scope::escape() {
        let mut command = scope::command(manager);
        let inner = command_line(outlive)?;
        command.arg(inner.get_program());
        // A manager that refuses is no reason not to run: the keeper is then started here.
        if keeper.run(command)? == Begun::Ready {
            return Ok(Begun::Ready);
        }
    }
    keeper.run(command_line(outlive)?)
}

/// A keeper to be started, perhaps in more than one way.
struct Keeper<'a> {
    job: &'a JobDir,
    id: &'a JobId,
    variables: &'a [(OsString, OsString)],
    /// Held here until the start is decided, so that nobody takes the job for abandoned meanwhile.
    lock: File,
}

impl Keeper<'_> {
    fn run(&self, mut command: Command) -> Result<Begun, Error> {
        let path = self.job.path();
        let failed = || Error::io("cannot prepare the keeper of", path);
        command
            .arg(path)
            .envs(self.variables.iter().cloned())
            .env(environment::JOB, self.id.as_str())
            .env(environment::JOB_DIR, path);
        let (mut ready, bell) = io::pipe().map_err(failed())?;
        command
            .stdin(self.lock.try_clone().map_err(failed())?)
            .stdout(bell)
            .stderr(Stdio::null());
        let child = command
            .spawn()
            .map_err(Error::io("cannot start", command.get_program()))?;
        // It holds this process's copy of the pipe's other end.
        drop(command);
        remember(child);
        hooks::reach(Hook::KeeperSpawned);
        let mut byte = [0];
        match ready.read(&mut byte) {
            Ok(1) => Ok(Begun::Ready),
            _ => Ok(Begun::Died),
        }
    }
}

fn remember(child: Child) {
    if let Ok(mut started) = STARTED.lock() {
        started.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        started.push(child);
    }
}

/// The keeper beside this program, or on the way to any program, or this program itself.
fn command_line(outlive: &Outlive) -> Result<Command, Error> {
    if let Some(path) = environment::non_empty(environment::KEEPER) {
        return Ok(Command::new(path));
    }
    let own = std::env::current_exe().map_err(Error::io("cannot find", "/proc/self/exe"))?;
    let beside = own.with_file_name(PROGRAM);
    if beside.is_file() {
        return Ok(Command::new(beside));
    }
    if outlive.is_keeper {
        // Through /proc, so that a program that was replaced by its update still finds itself.
        let mut command = Command::new("/proc/self/exe");
        command.arg0(PROGRAM);
        return Ok(command);
    }
    on_path().map(Command::new).ok_or(Error::NoKeeper(own))
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(PROGRAM))
        .find(|path| path.is_file())
}

/// Where the keeper of new jobs is, for `doctor`.
pub fn describe(outlive: &Outlive) -> Result<PathBuf, Error> {
    let command = command_line(outlive)?;
    let program = PathBuf::from(command.get_program());
    Ok(std::fs::read_link(&program).unwrap_or(program))
}
