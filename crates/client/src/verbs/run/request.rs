//! What a caller asks for when it starts a job.
//!
//! This is only what was asked. What was not asked is filled in from the user's configuration and from the
//! defaults by `run/spec.rs`, in the verb, so that every caller gets the same.

use crate::jobs::naming::Namesake;
use outlive_core::ready::Ready;
use outlive_core::watch::Pattern;
use outlive_core::{Input, JobId, Label, Leftovers, Notify};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments.
    Argv(Vec<OsString>),
    /// A string for a shell (bash, else sh).
    Shell(String),
}

/// A request to start a job.
#[derive(Clone, Debug)]
pub struct Run {
    pub command: Command,
    /// An id chosen by the caller: a second start with it is refused. Without one, an id is made.
    pub id: Option<JobId>,
    pub name: Option<Label>,
    /// What to do if a running job of this session has that name.
    pub namesake: Namesake,
    pub session: Option<Label>,
    pub task: Option<Label>,
    /// The directory to run it in; without one, that of this process.
    pub cwd: Option<PathBuf>,
    pub input: Input,
    /// Set the variables that switch off colours, pagers and questions, unless they are given.
    pub plain: bool,
    /// Added to the environment, which is inherited.
    pub variables: Vec<(OsString, OsString)>,
    /// Stop it after this long; never if `None` or zero.
    pub timeout: Option<Duration>,
    /// The time from TERM to KILL when it is stopped.
    pub grace: Option<Duration>,
    /// How many bytes of the output are kept; 0 for all of it.
    pub max_output: Option<u64>,
    pub notify: Notify,
    /// Report lines of the output that match, while it runs.
    pub watch: Vec<Pattern>,
    /// Stop watching after this many matches.
    pub watch_limit: Option<u64>,
    /// The sign by which it is ready.
    pub ready: Option<Ready>,
    /// Report a silence of this length.
    pub quiet_after: Option<Duration>,
    /// Only one job at a time has this lock.
    pub lock: Option<Label>,
    /// If the session runs this command in this directory already, return that job instead.
    pub unless_running: bool,
    /// Run this with a shell once it has ended, before the doorbells that the user has configured.
    pub on_end: Option<String>,
    pub leftovers: Leftovers,
    /// A file that the output is also appended to.
    pub log: Option<PathBuf>,
    /// Keep the machine awake while it runs.
    pub keep_awake: bool,
}

impl Run {
    pub fn new(command: Command) -> Run {
        Run {
            command,
            id: None,
            name: None,
            namesake: Namesake::Refuse,
            session: None,
            task: None,
            cwd: None,
            input: Input::Null,
            plain: false,
            variables: Vec::new(),
            timeout: None,
            grace: None,
            max_output: None,
            notify: Notify::End,
            watch: Vec::new(),
            watch_limit: None,
            ready: None,
            quiet_after: None,
            lock: None,
            unless_running: false,
            on_end: None,
            leftovers: Leftovers::Keep,
            log: None,
            keep_awake: false,
        }
    }

    /// A program and its arguments.
    pub fn argv<S: Into<OsString>>(argv: impl IntoIterator<Item = S>) -> Run {
        Run::new(Command::Argv(argv.into_iter().map(Into::into).collect()))
    }

    /// A command line for a shell.
    pub fn shell(script: impl Into<String>) -> Run {
        Run::new(Command::Shell(script.into()))
    }
}
