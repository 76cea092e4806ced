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
use outlive_sys::spawn::{Other, Started};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
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
static STARTED: Mutex<Vec<Started>> = Mutex::new(Vec::new());

/// Starts a keeper that holds `lock` from here on, and waits until the start is decided.
pub fn start(
    outlive: &Outlive,
    job: &JobDir,
    id: &JobId,
    lock: Lock,
    variables: &[(OsString, OsString)],
) -> Result<Begun, Error> {
    let own = [
        (environment::JOB.into(), id.as_str().into()),
        (environment::JOB_DIR.into(), job.path().into()),
    ];
    let keeper = Keeper {
        job,
        variables: [variables, &own].concat(),
        lock: lock.into_file(),
    };
    let program = Program::find(outlive)?;
    if let Some((manager, run)) = scope::escape() {
        let mut argv = scope::arguments(manager);
        argv.push(program.path.clone().into());
        // A manager that refuses is no reason not to run: the keeper is then started here.
        let silent = File::options().write(true).open("/dev/null").ok();
        if keeper.run(&run, argv, silent.as_ref())? == Begun::Ready {
            return Ok(Begun::Ready);
        }
    }
    keeper.run(&program.path, vec![program.name], None)
}

/// A keeper to be started, perhaps in more than one way.
struct Keeper<'a> {
    job: &'a JobDir,
    variables: Vec<(OsString, OsString)>,
    /// Held here until the start is decided, so that nobody takes the job for abandoned meanwhile.
    lock: File,
}

impl Keeper<'_> {
    /// Through this program, with the job as the last argument.
    fn run(
        &self,
        program: &Path,
        mut argv: Vec<OsString>,
        error: Option<&File>,
    ) -> Result<Begun, Error> {
        let path = self.job.path();
        argv.push(path.into());
        let (mut ready, bell) =
            io::pipe().map_err(Error::io("cannot prepare the keeper of", path))?;
        let started = Other {
            program: program.as_os_str(),
            argv: &argv,
            variables: &self.variables,
            input: self.lock.as_fd(),
            output: bell.as_fd(),
            error: error.map(File::as_fd),
        }
        .start()
        .map_err(Error::io("cannot start", program))?;
        // The keeper's alone, so that it closes with that.
        drop(bell);
        remember(started);
        hooks::reach(Hook::KeeperSpawned);
        let mut byte = [0];
        match ready.read(&mut byte) {
            Ok(1) => Ok(Begun::Ready),
            _ => Ok(Begun::Died),
        }
    }
}

fn remember(started: Started) {
    if let Ok(mut all) = STARTED.lock() {
        all.retain(|one| !one.has_ended());
        all.push(started);
    }
}

/// What is executed as a keeper.
struct Program {
    path: PathBuf,
    name: OsString,
}

impl Program {
    /// The keeper beside this program, or on the way to any program, or this program itself.
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
            // Through /proc, so that a program that was replaced by its update still finds itself.
            return Ok(Program {
                path: "/proc/self/exe".into(),
                name: PROGRAM.into(),
            });
        }
        environment::on_path(PROGRAM)
            .map(called)
            .ok_or(Error::NoKeeper(own))
    }
}

/// Where the keeper of new jobs is, for `doctor`.
pub fn describe(outlive: &Outlive) -> Result<PathBuf, Error> {
    let program = Program::find(outlive)?.path;
    Ok(std::fs::read_link(&program).unwrap_or(program))
}
