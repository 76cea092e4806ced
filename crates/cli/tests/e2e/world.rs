//! A home of its own for each test, and ways to look at what happens in it.

use crate::processes::{STOP, kill_for_good, until_stopped};
use outlive_sys::process::{self, PidFd};
use outlive_sys::{filter, tree};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Everything a test asks for should happen within this; more means that it never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// Set to 4.18, every program of ours is refused what a kernel of that age does not know.
pub const KERNEL: &str = "OUTLIVE_TEST_KERNEL";

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
            .env("XDG_CONFIG_HOME", self.path("config"))
            .stdin(Stdio::null());
        for name in FOREIGN {
            command.env_remove(name);
        }
        if std::env::var_os(KERNEL).is_some_and(|kernel| kernel == "4.18") {
            filter::refuse(&mut command, &filter::linux_4_18());
        }
        command
    }

    /// Runs `outlive` to its end.
    pub fn outlive(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs `outlive` on behalf of a session.
    pub fn as_session(&self, session: &str, args: &[&str]) -> Ran {
        Ran::of(self.command(args).env("OUTLIVE_SESSION", session))
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
        only_job(&serde_json::from_str(&ran.stdout).unwrap())
    }

    /// The one job in the answer to `stop` or `wait`.
    pub fn job(&self, args: &[&str]) -> Value {
        only_job(&self.json(args))
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

    /// What an event of a job or a post is called.
    pub fn event_id(&self, id: &str, seq: &Value) -> String {
        let job = fs::read_to_string(self.job_dir(id).join("spec.json"));
        let asked = job.or_else(|_| {
            let posts = self.home().join("posts");
            fs::read_to_string(posts.join(id).join("post.json"))
        });
        let asked: Value = serde_json::from_str(&asked.unwrap()).unwrap();
        format!("{id}:{seq}.{}", asked["incarnation"].as_str().unwrap())
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
        let pid = |value: &Value| value["pid"].as_i64().map(|pid| pid as i32);
        let mut pair = None;
        for record in self.journal(id) {
            let event = &record["event"];
            if let Some(kept) = event.get("kept") {
                pair = Some(Pair {
                    keeper: pid(&kept["keeper"]).unwrap(),
                    standby: pid(&kept["standby"]),
                });
            }
            if let (Some(new), Some(pair)) = (event.get("new_standby"), &mut pair) {
                pair.standby = pid(&new["standby"]);
            }
        }
        pair.unwrap()
    }

    /// The same once there are two, and both live.
    pub fn settled_pair(&self, id: &str) -> (i32, i32) {
        let mut found = None;
        until("both live", || {
            let pair = self.pair(id);
            found = pair.standby.map(|standby| (pair.keeper, standby));
            found.is_some_and(|(keeper, standby)| is_alive(keeper) && is_alive(standby))
        });
        found.unwrap()
    }

    /// The pid of the job's first process, as `show` tells it.
    pub fn leader(&self, id: &str) -> i32 {
        self.show(id)["pid"].as_i64().unwrap() as i32
    }

    /// The link that a job has as long as anything of it runs.
    pub fn live(&self, id: &str) -> PathBuf {
        self.home().join("live").join(id)
    }

    /// When the first event of this kind happened, in milliseconds since the machine was started.
    pub fn boot_ms(&self, id: &str, kind: &str) -> u64 {
        let journal = self.journal(id);
        let of_kind =
            |record: &&Value| record["event"] == kind || record["event"].get(kind).is_some();
        let record = journal.iter().find(of_kind).unwrap();
        record["at"]["boot_ms"].as_u64().unwrap()
    }

    /// Waits until nothing of the job is left but its record.
    pub fn until_over(&self, id: &str) {
        until("it is over", || self.live(id).symlink_metadata().is_err());
    }

    /// Waits until no process of this home is left.
    pub fn until_nothing_runs(&self) {
        until("nothing is left running", || self.processes().is_empty());
    }

    /// Waits until the job's keeper stands still at a hook; returns it.
    pub fn until_keeper_stops(&self, id: &str) -> i32 {
        let keeper = self.pair(id).keeper;
        until_stopped(keeper);
        keeper
    }

    /// Kills whoever keeps the job: both stand still first, so that neither takes over or makes itself another.
    pub fn kill_both(&self, id: &str) {
        let (keeper, standby) = self.settled_pair(id);
        kill(keeper, STOP);
        kill(standby, STOP);
        kill_for_good(standby);
        kill_for_good(keeper);
    }

    /// The ids that `list` with these options shows, in its order.
    pub fn listed(&self, options: &[&str]) -> Vec<String> {
        ids_of(&self.json(&[&["list", "--json"], options].concat()))
    }

    /// `stop` in the background.
    pub fn stopping<S: AsRef<OsStr>>(&self, ids: &[S], grace: &str) -> Child {
        self.command(["stop", "--grace", grace])
            .args(ids)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Another program with the environment that `outlive` has here.
    pub fn within<S: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null());
        give_environment(&self.command::<&str>([]), &mut command);
        command
    }

    /// Every running process marked as belonging to a job of this home: leaders, descendants and
    /// keepers.
    pub fn processes(&self) -> Vec<i32> {
        let jobs = self.home().join("jobs");
        let ours = |pid: &i32| {
            process::stat(*pid).is_some_and(|stat| !stat.is_zombie())
                && process::started_with(*pid, "OUTLIVE_JOB_DIR")
                    .ok()
                    .flatten()
                    .is_some_and(|mark| mark.starts_with(jobs.as_os_str().as_bytes()))
        };
        tree::all().unwrap().into_iter().filter(ours).collect()
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
        Ran::from(command.output().unwrap())
    }

    /// The one job in what was printed.
    pub fn job(&self) -> Value {
        only_job(&serde_json::from_str(&self.stdout).unwrap())
    }

    /// What a process that was started with its output to be read ends with.
    pub fn end_of(child: Child) -> Ran {
        Ran::from(child.wait_with_output().unwrap())
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
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
    process::stat(pid).is_some_and(|stat| !stat.is_zombie())
}

/// Waits for something outside our own programs to come true (a process gone, a file there).
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "never came true: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Copies a program, through another one: had this process it open for writing, a child that another test
/// forks meanwhile would have it too, and nobody could execute it.
pub fn copy_program(from: &str, to: &Path) {
    let copied = Command::new("cp").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

/// A program that runs another command, with that command's environment.
pub fn behind<S: AsRef<OsStr>>(
    program: &str,
    words: impl IntoIterator<Item = S>,
    command: &Command,
) -> Command {
    let mut outer = Command::new(program);
    outer
        .args(words)
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    give_environment(command, &mut outer);
    outer
}

/// Has one command start with the environment that another one has.
pub fn give_environment(from: &Command, to: &mut Command) {
    for (key, value) in from.get_envs() {
        match value {
            Some(value) => to.env(key, value),
            None => to.env_remove(key),
        };
    }
}

/// The one job in an answer.
pub fn only_job(answer: &Value) -> Value {
    let jobs = answer["jobs"].as_array().unwrap();
    let [job] = jobs.as_slice() else {
        panic!("{answer}")
    };
    job.clone()
}

/// The ids of the jobs in an answer, in its order.
pub fn ids_of(answer: &Value) -> Vec<String> {
    let id = |job: &Value| job["id"].as_str().unwrap().to_owned();
    answer["jobs"].as_array().unwrap().iter().map(id).collect()
}

/// The names in a directory, sorted.
pub fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
