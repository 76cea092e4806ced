//! A home of its own for each test, and ways to look at what happens in it.

use outlive_sys::pidfd::PidFd;
use outlive_sys::procfs;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Everything a test asks for should happen within this; more means that it never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// Variables of the test's own surroundings that must not reach what it tests.
const FOREIGN: [&str; 9] = [
    "OUTLIVE_SESSION",
    "OUTLIVE_JOB",
    "OUTLIVE_JOB_DIR",
    "OUTLIVE_HOOKS",
    "OUTLIVE_KEEPER",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "GEMINI_SESSION_ID",
];

/// One test's home.
pub struct World {
    directory: tempfile::TempDir,
}

/// What a run of `outlive` ended with.
#[derive(Debug)]
pub struct Ran {
    /// 128+n after a signal.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The processes that keep a job, as its journal names them.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub keeper: i32,
    pub standby: Option<i32>,
}

impl World {
    pub fn new() -> World {
        World {
            directory: tempfile::Builder::new()
                .prefix("outlive-test-")
                .tempdir()
                .unwrap(),
        }
    }

    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// A path for the test's own files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn job_dir(&self, id: &str) -> PathBuf {
        self.home().join("jobs").join(id)
    }

    /// `outlive` in this home, to be changed further.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outlive"));
        command
            .args(args)
            .env("OUTLIVE_HOME", self.home())
            .stdin(Stdio::null());
        for name in FOREIGN {
            command.env_remove(name);
        }
        command
    }

    /// Runs `outlive` to its end.
    pub fn outlive(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs `outlive`, which must succeed; returns what it printed, trimmed.
    pub fn ok(&self, args: &[&str]) -> String {
        let ran = self.outlive(args);
        assert_eq!(ran.code, 0, "outlive {args:?}: {ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    /// Starts a shell job; returns its id.
    pub fn shell(&self, script: &str) -> String {
        self.ok(&["run", "--shell", script])
    }

    /// Starts a shell job with these hooks set; returns its id.
    pub fn shell_with_hooks(&self, hooks: &str, script: &str) -> String {
        let ran = Ran::of(
            self.command(["run", "--shell", script])
                .env("OUTLIVE_HOOKS", hooks),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.trim_end().to_owned()
    }

    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    pub fn show(&self, id: &str) -> Value {
        self.json(&["show", id, "--json"])
    }

    /// The job once it has ended.
    pub fn wait(&self, id: &str) -> Value {
        let ran = self.outlive(&["wait", id, "--json", "--timeout", "30s"]);
        assert_ne!(ran.code, 124, "{id} did not end: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// The output file, byte for byte.
    pub fn output(&self, id: &str) -> Vec<u8> {
        fs::read(self.job_dir(id).join("output")).unwrap_or_default()
    }

    /// The lines of a job's journal.
    pub fn journal(&self, id: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.job_dir(id).join("journal")).unwrap();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The data of every event of this kind (`null` for one without data).
    pub fn events(&self, id: &str, kind: &str) -> Vec<Value> {
        self.journal(id)
            .iter()
            .map(|record| &record["event"])
            .filter_map(|event| match event.as_str() {
                Some(name) => (name == kind).then_some(Value::Null),
                None => event.get(kind).cloned(),
            })
            .collect()
    }

    /// Who keeps the job, as its journal says.
    pub fn pair(&self, id: &str) -> Pair {
        let kept = self.events(id, "kept");
        let kept = kept.last().unwrap();
        let pid = |value: &Value| value["pid"].as_i64().map(|pid| pid as i32);
        Pair {
            keeper: pid(&kept["keeper"]).unwrap(),
            standby: pid(&kept["standby"]),
        }
    }

    /// Every running process marked as belonging to a job of this home: leaders, descendants and
    /// keepers.
    pub fn processes(&self) -> Vec<i32> {
        let jobs = self.home().join("jobs");
        let ours = |pid: &i32| {
            procfs::stat(*pid).is_some_and(|stat| !stat.is_zombie())
                && procfs::started_with(*pid, "OUTLIVE_JOB_DIR")
                    .is_some_and(|mark| mark.starts_with(jobs.as_os_str().as_bytes()))
        };
        procfs::all().unwrap().into_iter().filter(ours).collect()
    }
}

impl Drop for World {
    /// Ends what this test started, and nothing else.
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid, 9);
        }
    }
}

impl Ran {
    pub fn of(command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        Ran {
            code: output
                .status
                .code()
                .unwrap_or_else(|| 128 + output.status.signal().unwrap()),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Sends a signal to a process, if it is still there.
pub fn kill(pid: i32, signal: i32) {
    if let Ok(Some(process)) = PidFd::open(pid) {
        let _ = process.signal(signal);
    }
}

pub fn is_alive(pid: i32) -> bool {
    procfs::stat(pid).is_some_and(|stat| !stat.is_zombie())
}

/// Waits for something outside our own programs to come true (a process gone, a file there).
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
