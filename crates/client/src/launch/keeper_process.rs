//! Starts a keeper.
//!
//! The keeper gets the job directory as its only argument, the locked lock file as standard input, and
//! one end of a pipe as standard output. Through the pipe it reports whether the start succeeded or
//! failed.

use crate::environment;
use crate::environment::inherited::JobVariables;
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::hooks::{self, Hook};
use crate::launch::scope::{self, Delegated};
use outlive_core::{JobDir, JobId};
use outlive_sys::lock::{self, Lock};
use outlive_sys::process::own;
use outlive_sys::spawn;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

const PROGRAM: &str = "outlive-keeper";
/// The argument that makes the keeper stay in the foreground, in the process that executes it.
const FOREGROUND: &str = "foreground";

/// What happened to a keeper that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartResult {
    Ready,
    /// It ended first. The journal tells how far it came.
    Died,
}

/// What this process has started and not reaped.
static STARTED: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Starts a keeper that takes over `lock`, and waits until the start has succeeded or failed.
pub fn start(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    variables: &JobVariables,
) -> Result<StartResult, Error> {
    let variables = with_own(variables, job, id);
    let keeper = Keeper {
        job,
        lock: lock.into_file(),
    };
    let program = Program::find(outlive)?;
    if let Some(begun) = start_in_scope(&keeper, &program, id, &variables) {
        return Ok(begun);
    }
    let mut command = Command::new(&program.path);
    command.arg0(program.name);
    variables.give(&mut command);
    keeper.run(&mut command)
}

/// Starts the keeper in its own scope, if it should have one. Returns `None` if no keeper ran: systemd
/// refused or could not be asked. The caller then starts the keeper directly.
fn start_in_scope(
    keeper: &Keeper,
    program: &Program,
    id: &JobId,
    variables: &JobVariables,
) -> Option<StartResult> {
    let mut command = scope::command(id, variables, || Delegated::to(keeper.job))?;
    let (path, _link) = program.by_its_name(keeper.job).ok()?;
    let journal = || fs::metadata(keeper.job.journal()).map(|file| file.len());
    let before = journal().ok()?;
    match keeper.run(command.arg(path)) {
        Ok(StartResult::Ready) => Some(StartResult::Ready),
        // Each keeper first records that it keeps the job. If that is recorded and it died, it ran.
        Ok(StartResult::Died) => (journal().ok()? != before).then_some(StartResult::Died),
        Err(_) => None,
    }
}

/// Becomes a keeper in the foreground that holds `lock`, with this process's ID, standard output and
/// standard error. Blocked signals stay blocked. Returns only if that fails.
pub fn become_keeper(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    variables: &JobVariables,
) -> Error {
    let program = match Program::find(outlive) {
        Ok(program) => program,
        Err(error) => return error,
    };
    let held = lock.into_file();
    let stdin = match held.try_clone() {
        Ok(copy) => copy,
        Err(error) => return Error::io("cannot prepare the keeper of", job.path())(error),
    };
    let mut command = Command::new(&program.path);
    command
        .arg0(program.name)
        .arg(job.path())
        .arg(FOREGROUND)
        .arg(own::pid().to_string())
        .stdin(stdin);
    with_own(variables, job, id).give(&mut command);
    let failed = spawn::become_with_own_signals(&mut command);
    // The lock file may now be this process's standard input, and would block others from the job.
    let _ = lock::release(&held);
    Error::io("cannot execute", &program.path)(failed)
}

/// The variables of a job, with those that tell the job its identity.
fn with_own(variables: &JobVariables, job: &JobDir, id: &JobId) -> JobVariables {
    let mut variables = variables.clone();
    variables.set(environment::JOB, id.as_str());
    variables.set(environment::JOB_DIR, job.path());
    variables
}

/// Reaps what has ended, so that a long-lived embedder collects no zombies. As a rule, what was started has
/// forked the keepers and ended.
pub(crate) fn remember(started: Child) {
    if let Ok(mut all) = STARTED.lock() {
        all.push(started);
        all.retain_mut(|one| matches!(one.try_wait(), Ok(None)));
    }
}

/// Waits for everything that was started and has forked its keepers, which it does at once. For a process that lives
/// long and starts little.
pub fn reap() {
    let started = STARTED.lock().map(|mut all| std::mem::take(&mut *all));
    for mut one in started.unwrap_or_default() {
        let _ = one.wait();
    }
}

/// A keeper to start, possibly in more than one way.
struct Keeper<'a> {
    job: &'a JobDir,
    /// Held until the start has succeeded or failed, so that nobody mistakes the job for an abandoned
    /// one.
    lock: File,
}

impl Keeper<'_> {
    /// Starts the keeper through this command, with the job as the last argument.
    fn run(&self, command: &mut Command) -> Result<StartResult, Error> {
        let (started, mut ready) = self.begin(command)?;
        hooks::reach(Hook::KeeperSpawned);
        let mut byte = [0];
        let result = match ready.read(&mut byte) {
            Ok(1) => StartResult::Ready,
            _ => StartResult::Died,
        };
        remember(started);
        Ok(result)
    }

    /// Starts the keeper. Also returns the pipe on which it reports that it is ready. Only the keeper
    /// has the other end, so the pipe closes when the keeper exits.
    fn begin(&self, command: &mut Command) -> Result<(Child, PipeReader), Error> {
        let path = self.job.path();
        let prepare = || Ok((self.lock.try_clone()?, io::pipe()?));
        let (lock, (ready, bell)) =
            prepare().map_err(Error::io("cannot prepare the keeper of", path))?;
        command.arg(path).stdin(lock).stdout(bell);
        let started = spawn::start(command);
        // Otherwise the command would keep its copies of both open.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let program = PathBuf::from(command.get_program());
        let started = started.map_err(Error::io("cannot start", &program))?;
        Ok((started, ready))
    }
}

/// The program to execute as a keeper.
struct Program {
    path: PathBuf,
    name: OsString,
}

impl Program {
    /// Finds the keeper beside this program or on the `PATH`, or uses this program itself.
    fn find(outlive: &Outlive) -> Result<Program, Error> {
        let called = |path: PathBuf| Program {
            name: path.clone().into(),
            path,
        };
        if let Some(path) = environment::non_empty(environment::KEEPER) {
            let path = PathBuf::from(path);
            let is_name = path.parent() == Some(Path::new(""));
            let found = is_name.then(|| environment::on_path(&path)).flatten();
            return Ok(called(found.unwrap_or(path)));
        }
        let own = std::env::current_exe().map_err(Error::io("cannot find", "/proc/self/exe"))?;
        let beside = own.with_file_name(PROGRAM);
        if beside.is_file() {
            return Ok(called(beside));
        }
        if outlive.is_keeper {
            // Use /proc, so that a program that an update has replaced still finds itself.
            return Ok(Program {
                path: "/proc/self/exe".into(),
                name: PROGRAM.into(),
            });
        }
        environment::on_path(PROGRAM)
            .map(called)
            .ok_or(Error::NoKeeper(own))
    }

    /// A path through which another program can start it with the right name. This program gets a link
    /// for that: it acts as a keeper because of its name, and `/proc/self` would be the other program.
    fn by_its_name(&self, job: &JobDir) -> io::Result<(PathBuf, Option<Link>)> {
        if self.path.as_os_str() == self.name {
            return Ok((self.path.clone(), None));
        }
        let path = job.path().join(PROGRAM);
        let _ = fs::remove_file(&path);
        symlink(format!("/proc/{}/exe", own::pid()), &path)?;
        Ok((path.clone(), Some(Link(path))))
    }
}

/// A link that exists until the start has succeeded or failed.
struct Link(PathBuf);

impl Drop for Link {
    fn drop(&mut self) {
        // A link that stays is removed with the job.
        let _ = fs::remove_file(&self.0);
    }
}

/// The path of the keeper of new jobs, for `doctor`.
pub fn describe(outlive: &Outlive) -> Result<PathBuf, Error> {
    let program = Program::find(outlive)?.path;
    Ok(std::fs::read_link(&program).unwrap_or(program))
}
