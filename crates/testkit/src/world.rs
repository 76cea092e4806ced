//! A scratch home for one test, and running `outlive` in it.

use crate::environment::{give_environment, remove_foreign};
use crate::place::{Local, Place};
use crate::processes::{KILL, begin, kill, of_jobs_in};
use crate::programs;
use crate::ran::{Ran, ids_of, only_job};
use crate::waiting::until;
use outlive_sys::filter::{self, Refusal};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// If this variable is `4.18`, the programs are refused the system calls that Linux 4.18 does not have.
pub const KERNEL: &str = "OUTLIVE_TEST_KERNEL";

/// The scratch home of one test. When it is dropped, its processes are killed and its files removed.
#[derive(Debug)]
pub struct World {
    directory: tempfile::TempDir,
    /// The directory of the programs under test.
    programs: PathBuf,
    place: Arc<dyn Place>,
    /// The directory of this test at the place.
    scratch: PathBuf,
    /// Environment variables of every command in this world.
    variables: Vec<(&'static str, OsString)>,
    /// System calls that every command in this world is refused.
    refused: Vec<Refusal>,
}

impl Default for World {
    fn default() -> World {
        World::new()
    }
}

impl World {
    /// A world whose jobs run on this machine.
    pub fn new() -> World {
        World::at(Arc::new(Local))
    }

    /// A world whose jobs run at this place.
    pub fn at(place: Arc<dyn Place>) -> World {
        World::make(programs::directory(), place).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// A world with the programs of this directory, whose jobs run on this machine.
    pub fn with_programs(programs: &Path) -> Result<World, String> {
        World::make(programs, Arc::new(Local))
    }

    fn make(programs: &Path, place: Arc<dyn Place>) -> Result<World, String> {
        let directory = tempfile::Builder::new()
            .prefix("outlive-test-")
            .tempdir()
            .map_err(|error| format!("no directory for the test: {error}"))?;
        let scratch = place
            .scratch(directory.path())
            .map_err(|error| format!("no directory at {}: {error}", place.name()))?;
        let is_old = std::env::var_os(KERNEL).is_some_and(|kernel| kernel == "4.18");
        Ok(World {
            directory,
            programs: programs.to_owned(),
            place,
            scratch,
            variables: Vec::new(),
            refused: if is_old {
                filter::linux_4_18()
            } else {
                Vec::new()
            },
        })
    }

    /// Refuses these system calls to every later command in this world.
    pub fn refuse(&mut self, refused: &[Refusal]) {
        self.refused = refused.to_vec();
    }

    /// Sets this environment variable for every later command in this world.
    pub fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.variables.push((name, value.into()));
    }

    /// Where the jobs of this world run.
    pub fn place(&self) -> &dyn Place {
        &*self.place
    }

    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// A path for the test's own files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A path for the test's own files at the place.
    pub fn path_there(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// The command `outlive` with this home, which the caller may change further.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(self.programs.join("outlive"));
        remove_foreign(&mut command)
            .args(args)
            .env("OUTLIVE_HOME", self.home())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        self.place.direct(&mut command, &self.scratch);
        if !self.refused.is_empty() {
            filter::refuse(&mut command, &self.refused);
        }
        command
    }

    /// Another program, with the environment that `outlive` has in this world.
    pub fn within<S: AsRef<OsStr>>(
        &self,
        program: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null());
        self.give_environment(&mut command);
        command
    }

    /// Gives another program the environment that `outlive` has here.
    pub fn give_environment(&self, command: &mut Command) {
        give_environment(&self.command::<&str>([]), command);
    }

    /// Runs `outlive` to its end.
    #[track_caller]
    pub fn outlive(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    /// Runs `outlive` to its end.
    pub fn try_outlive(&self, args: &[&str]) -> Result<Ran, String> {
        Ran::try_of(&mut self.command(args))
    }

    /// Runs `outlive` on behalf of a session.
    #[track_caller]
    pub fn as_session(&self, session: &str, args: &[&str]) -> Ran {
        Ran::of(self.command(args).env("OUTLIVE_SESSION", session))
    }

    /// Runs `outlive`, which must succeed; returns what it printed, trimmed.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        match self.try_ok(args) {
            Ok(ran) => ran.text(),
            Err(reason) => panic!("{reason}"),
        }
    }

    /// Runs `outlive`, which must succeed.
    pub fn try_ok(&self, args: &[&str]) -> Result<Ran, String> {
        let ran = self.try_outlive(args)?;
        match ran.code {
            0 => Ok(ran),
            _ => Err(format!("outlive {args:?} failed: {ran}")),
        }
    }

    /// Runs `outlive`, which must succeed and print JSON.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.try_json(args)
            .unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Runs `outlive`, which must succeed and print JSON.
    pub fn try_json(&self, args: &[&str]) -> Result<Value, String> {
        let ran = self.try_ok(args)?;
        serde_json::from_slice(&ran.bytes)
            .map_err(|error| format!("outlive {args:?} printed no JSON ({error}): {ran}"))
    }

    /// Starts a shell job; returns its id.
    #[track_caller]
    pub fn shell(&self, script: &str) -> String {
        self.ok(&["run", "--shell", script])
    }

    /// Starts a shell job with these hooks set; returns its id.
    #[track_caller]
    pub fn shell_with_hooks(&self, hooks: &str, script: &str) -> String {
        let ran = Ran::of(
            self.command(["run", "--shell", script])
                .env("OUTLIVE_HOOKS", hooks),
        );
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.text()
    }

    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        self.json(&["show", id, "--json"])
    }

    /// Waits for the end of the job; returns the job.
    #[track_caller]
    pub fn wait(&self, id: &str) -> Value {
        let ran = self.outlive(&["wait", id, "--json", "--timeout", "30s"]);
        let job = ran.job_or_null();
        assert_eq!(job["state"], "ended", "{id} did not end: {ran:?}");
        job
    }

    /// Runs `stop` or `wait`; returns the only job in the answer.
    #[track_caller]
    pub fn job(&self, args: &[&str]) -> Value {
        only_job(&self.json(args))
    }

    /// The IDs that `list` prints with these options, in order.
    #[track_caller]
    pub fn listed(&self, options: &[&str]) -> Vec<String> {
        ids_of(&self.json(&[&["list", "--json"], options].concat()))
    }

    /// Starts `outlive` in the background, with pipes for its output.
    pub fn begin(&self, args: &[&str]) -> Child {
        begin(self.command(args))
    }

    /// Starts `stop` in the background.
    pub fn stopping<S: AsRef<OsStr>>(&self, ids: &[S], grace: &str) -> Child {
        self.command(["stop", "--grace", grace])
            .args(ids)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Every running process of the jobs of this home: keepers, leaders and descendants.
    pub fn processes(&self) -> Vec<i32> {
        let processes = self.place.processes(&self.scratch);
        processes.iter().map(|process| process.pid).collect()
    }

    /// Waits until no process of this home is left.
    #[track_caller]
    pub fn until_nothing_runs(&self) {
        until("nothing is left running", || self.processes().is_empty());
    }
}

impl Drop for World {
    /// Kills what this test started, and nothing else.
    fn drop(&mut self) {
        // First those that would start others.
        for courier in self.couriers() {
            courier.signal(KILL);
        }
        for process in self.place.processes(&self.scratch) {
            self.place.signal(process, KILL);
        }
        // Jobs in other homes of this test.
        for pid in of_jobs_in(self.directory.path()) {
            kill(pid, KILL);
        }
        self.place.remove_scratch(&self.scratch);
    }
}
