//! The request to start a job.
//!
//! It contains only what the caller set. The verb fills in the rest from the user's configuration and
//! the defaults (`run/spec.rs`), so every caller gets the same.

use crate::error::Error;
use crate::jobs::naming::Namesake;
use outlive_core::label::BadLabel;
use outlive_core::ready::{BadReady, Ready};
use outlive_core::watch::Pattern;
use outlive_core::{Input, JobId, Label, Leftovers, Notify, Size};
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
///
/// What is not set is filled in from the user's configuration and from the [defaults](crate::defaults).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// What to run.
    pub command: Command,
    /// An id chosen by the caller: a second start with it is refused. Without one, an id is made.
    pub id: Option<JobId>,
    /// A name to find it by.
    pub name: Option<Label>,
    /// What to do if a running job of this session has that name.
    pub namesake: Namesake,
    /// Who asks: whose inbox gets its events.
    pub session: Option<Label>,
    /// The unit of work it belongs to.
    pub task: Option<Label>,
    /// The directory to run it in; without one, that of this process.
    pub cwd: Option<PathBuf>,
    /// What it reads from.
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
    /// For which ends its session is told.
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
    /// What becomes of processes that outlive the command.
    pub leftovers: Leftovers,
    /// A file that the output is also appended to.
    pub log: Option<PathBuf>,
    /// Keep the machine awake while it runs.
    pub keep_awake: bool,
    /// A text that a setter was given and that cannot be used: the start is refused with it.
    pub(super) refused: Option<Refused>,
}

/// A name, session, task, lock or sign that cannot be used.
#[derive(Clone, Debug)]
pub(super) enum Refused {
    Label {
        what: &'static str,
        text: String,
        reason: BadLabel,
    },
    Ready(BadReady),
}

impl Run {
    /// A request with defaults for all but the command.
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
            refused: None,
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

    /// A name to find it by. One that cannot be used is refused when the job is started.
    #[must_use]
    pub fn name(mut self, name: &str) -> Run {
        self.name = self.label("the name", name);
        self
    }

    /// Who asks: whose inbox gets its events.
    #[must_use]
    pub fn session(mut self, session: &str) -> Run {
        self.session = self.label("the session", session);
        self
    }

    /// The unit of work it belongs to.
    #[must_use]
    pub fn task(mut self, task: &str) -> Run {
        self.task = self.label("the task", task);
        self
    }

    /// Only one job at a time has this lock; others wait for it.
    #[must_use]
    pub fn lock(mut self, lock: &str) -> Run {
        self.lock = self.label("the lock", lock);
        self
    }

    /// The sign by which it is ready: `line:REGEX`, `port:NUMBER` or `http:URL`.
    #[must_use]
    pub fn ready(mut self, sign: &str) -> Run {
        match Ready::parse(sign) {
            Ok(ready) => self.ready = Some(ready),
            Err(reason) => self.refused = Some(Refused::Ready(reason)),
        }
        self
    }

    /// The directory to run it in.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Run {
        self.cwd = Some(directory.into());
        self
    }

    /// Adds a variable to its environment.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Run {
        self.variables.push((key.into(), value.into()));
        self
    }

    /// What it reads from: nothing, a pipe or a terminal.
    #[must_use]
    pub fn input(mut self, input: Input) -> Run {
        self.input = input;
        self
    }

    /// Gives it a terminal of its own.
    #[must_use]
    pub fn pty(self) -> Run {
        self.input(Input::Pty(Size::DEFAULT))
    }

    /// Stops it after this long.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Run {
        self.timeout = Some(timeout);
        self
    }

    /// The time from TERM to KILL when it is stopped.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Run {
        self.grace = Some(grace);
        self
    }

    /// How many bytes of its output are kept; 0 for all of it.
    #[must_use]
    pub fn max_output(mut self, bytes: u64) -> Run {
        self.max_output = Some(bytes);
        self
    }

    /// For which ends its session is told.
    #[must_use]
    pub fn notify(mut self, notify: Notify) -> Run {
        self.notify = notify;
        self
    }

    /// Reports lines of its output that match, while it runs.
    #[must_use]
    pub fn watch(mut self, pattern: Pattern) -> Run {
        self.watch.push(pattern);
        self
    }

    /// Reports a silence of this length.
    #[must_use]
    pub fn quiet_after(mut self, silence: Duration) -> Run {
        self.quiet_after = Some(silence);
        self
    }

    /// If the session runs this command in this directory already, returns that job instead.
    #[must_use]
    pub fn unless_running(mut self) -> Run {
        self.unless_running = true;
        self
    }

    /// Stops the running job of that name first.
    #[must_use]
    pub fn replacing(mut self) -> Run {
        self.namesake = Namesake::Replace;
        self
    }

    /// Runs this with a shell once it has ended, with the event as JSON on standard input.
    #[must_use]
    pub fn on_end(mut self, command: impl Into<String>) -> Run {
        self.on_end = Some(command.into());
        self
    }

    fn label(&mut self, what: &'static str, text: &str) -> Option<Label> {
        match Label::parse(text) {
            Ok(label) => Some(label),
            Err(reason) => {
                self.refused = Some(Refused::Label {
                    what,
                    text: text.to_owned(),
                    reason,
                });
                None
            }
        }
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Error {
        match refused {
            Refused::Label { what, text, reason } => Error::BadLabel { what, text, reason },
            Refused::Ready(reason) => Error::BadReady(reason),
        }
    }
}
