//! A home of its own for each case, and ways to look at what happens in it.

use crate::row::Context;
use outlive_sys::filter::{self, Refusal};
use outlive_sys::process::{self, PidFd};
use outlive_sys::tree;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{RwLock, RwLockWriteGuard, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Everything asked for should happen within this, also on a busy machine; more means never.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Variables of the surroundings that must not reach what is tried.
const FOREIGN: [&str; 10] = [
    "OUTLIVE_SESSION",
    "OUTLIVE_JOB",
    "OUTLIVE_JOB_DIR",
    "OUTLIVE_HOOKS",
    "OUTLIVE_KEEPER",
    "OUTLIVE_HOME",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID",
];

/// A process that is being started holds for an instant what every thread here has open, and so its locks.
/// Whoever calls the library shares this meanwhile.
pub static STARTING: RwLock<()> = RwLock::new(());

/// One case's home, and a directory around it for the case's own files.
pub struct World {
    programs: PathBuf,
    directory: tempfile::TempDir,
    /// What every command in it is refused.
    refused: Vec<Refusal>,
}

/// What a command ended with.
#[derive(Clone, Debug)]
pub struct Ran {
    /// 128+n after a signal.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl World {
    pub fn new(context: &Context) -> Result<World, String> {
        let directory = tempfile::Builder::new()
            .prefix("outlive-faults-")
            .tempdir()
            .map_err(|error| format!("no directory for the case: {error}"))?;
        Ok(World {
            programs: context.programs.clone(),
            directory,
            refused: Vec::new(),
        })
    }

    /// From here on every command in it is refused these system calls.
    pub fn refuse(&mut self, refused: &[Refusal]) {
        self.refused = refused.to_vec();
    }

    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// A path for the case's own files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn job_dir(&self, id: &str) -> PathBuf {
        self.home().join("jobs").join(id)
    }

    /// `outlive` in this home, to be changed further.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(self.programs.join("outlive"));
        for name in FOREIGN {
            command.env_remove(name);
        }
        command
            .args(args)
            .env("OUTLIVE_HOME", self.home())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .stdin(Stdio::null());
        if !self.refused.is_empty() {
            filter::refuse(&mut command, &self.refused);
        }
        command
    }

    /// Gives another program the environment that `outlive` has in this home.
    pub fn give_environment(&self, command: &mut Command) {
        for (key, value) in self.command::<&str>([]).get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
    }

    /// `outlive` started by another program, which gets these words first.
    pub fn behind<S: AsRef<OsStr>>(&self, program: &str, words: &[S], args: &[&str]) -> Command {
        let outlive = self.command(args);
        let mut command = Command::new(program);
        command
            .args(words)
            .arg(outlive.get_program())
            .args(outlive.get_args());
        self.give_environment(&mut command);
        command
    }

    /// Runs `outlive` to its end.
    pub fn outlive(&self, args: &[&str]) -> Result<Ran, String> {
        Ran::of(&mut self.command(args))
    }

    /// Runs `outlive`, which must succeed.
    pub fn ok(&self, args: &[&str]) -> Result<Ran, String> {
        let ran = self.outlive(args)?;
        match ran.code {
            0 => Ok(ran),
            _ => Err(format!("outlive {args:?} failed: {ran}")),
        }
    }

    pub fn json(&self, args: &[&str]) -> Result<Value, String> {
        let ran = self.ok(args)?;
        serde_json::from_slice(&ran.stdout)
            .map_err(|error| format!("outlive {args:?} printed no JSON ({error}): {ran}"))
    }

    /// Every event in the job's journal, by its kind.
    pub fn events(&self, id: &str) -> Vec<(String, Value)> {
        let journal = fs::read(self.job_dir(id).join("journal")).unwrap_or_default();
        journal
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
            .filter_map(|record| match &record["event"] {
                Value::String(kind) => Some((kind.clone(), Value::Null)),
                Value::Object(event) => {
                    let (kind, data) = event.iter().next()?;
                    Some((kind.clone(), data.clone()))
                }
                _ => None,
            })
            .collect()
    }

    /// Every running process marked as belonging to a job of this home: leaders, descendants and
    /// keepers.
    pub fn processes(&self) -> Vec<i32> {
        let jobs = self.home().join("jobs");
        let is_ours = |pid: &i32| {
            process::stat(*pid).is_some_and(|stat| !stat.is_zombie())
                && process::started_with(*pid, "OUTLIVE_JOB_DIR")
                    .ok()
                    .flatten()
                    .is_some_and(|mark| mark.starts_with(jobs.as_os_str().as_bytes()))
        };
        let all = tree::all().unwrap_or_default();
        all.into_iter().filter(is_ours).collect()
    }

    /// Everything below the home that is not a directory, as paths relative to it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut found = self.everything();
        let home = self.home();
        found.retain(|path| {
            !home
                .join(path)
                .symlink_metadata()
                .is_ok_and(|it| it.is_dir())
        });
        found
    }

    /// The same with directories.
    pub fn everything(&self) -> Vec<PathBuf> {
        let (home, mut found) = (self.home(), Vec::new());
        let mut directories = vec![home.clone()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    directories.push(entry.path());
                }
                found.extend(entry.path().strip_prefix(&home).map(Path::to_owned));
            }
        }
        found.sort();
        found
    }
}

impl Drop for World {
    /// Ends what this case started, and nothing else.
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid);
        }
    }
}

impl Ran {
    /// The one job that `wait --json` printed, if it did.
    pub fn job(&self) -> Value {
        let answer: Value = serde_json::from_slice(&self.stdout).unwrap_or_default();
        answer["jobs"][0].clone()
    }

    /// Runs a command to its end; one that does not come to it is killed, and a loss.
    pub fn of(command: &mut Command) -> Result<Ran, String> {
        let shown = format!("{:?}", command.get_args().collect::<Vec<_>>());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = {
            let _alone = alone();
            command.spawn()
        };
        let child = child.map_err(|error| format!("{shown} could not be run: {error}"))?;
        let pid = child.id() as i32;
        let (done, ended) = mpsc::channel();
        thread::spawn(move || done.send(child.wait_with_output()));
        match ended.recv_timeout(PATIENCE) {
            Ok(Ok(output)) => Ok(Ran::from(output)),
            Ok(Err(error)) => Err(format!("{shown}: {error}")),
            Err(_) => {
                let stack = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
                kill(pid);
                Err(format!("{shown} never ended (asleep in {stack:?})"))
            }
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let signal = output.status.signal().unwrap_or_default();
        Ran {
            code: output.status.code().unwrap_or(128 + signal),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stdout: String = self.text().chars().take(2000).collect();
        write!(to, "code {}, said {stdout:?}, {:?}", self.code, self.stderr)
    }
}

/// Nobody calls the library while this is held; unless somebody's call never ends, which is its own loss.
fn alone() -> Option<RwLockWriteGuard<'static, ()>> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Ok(alone) = STARTING.try_write() {
            return Some(alone);
        }
        thread::sleep(Duration::from_micros(200));
    }
    None
}

/// Kills a process, if it is still there.
pub fn kill(pid: i32) {
    if let Ok(Some(process)) = PidFd::open(pid) {
        let _ = process.signal(9);
    }
}

/// Waits for something to come true; a loss if it never does.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) -> Result<(), String> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > PATIENCE {
            return Err(format!("never came true: {what}"));
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
