//! `run`
//!
//! A request contains only what the caller set. The verb fills in the rest from the user's configuration and the
//! [defaults](crate::defaults), so every caller gets the same.

mod marks;
mod refusal;
mod turns;

pub use refusal::BadSetting;

use super::environment::Environment;
use crate::defaults::{MAX_PATTERNS, MIN_OUTPUT};
use crate::id::JobId;
use crate::input::Input;
use crate::label::Label;
use crate::labels::{self, Labels};
use crate::limits::Limits;
use crate::notify::{Leftovers, Notify};
use crate::os_text::OsText;
use crate::ready::Ready;
use crate::restart::Restart;
use crate::streams::Streams;
use crate::terminal::Size;
#[cfg(feature = "schema")]
use crate::time::Millis;
use crate::waiting::{After, Queue};
use crate::watch::Pattern;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A program and its arguments.
    Argv(Vec<OsText>),
    /// A string for a shell (bash, else sh).
    Shell(String),
}

/// What happens to a running job whose name a new job wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Namesake {
    /// It keeps running, and the new job is refused.
    #[default]
    Refuse,
    /// It is stopped first.
    Replace,
}

/// A request to start a job.
///
/// What is not set is filled in from the configuration of the user that it runs as, and from the defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Run {
    /// What to run.
    pub command: Command,
    /// An id chosen by the caller: a second start with it is refused. Without one, an id is made.
    #[serde(default)]
    pub id: Option<JobId>,
    /// A name to find it by.
    #[serde(default)]
    pub name: Option<Label>,
    /// What to do if a running job of this session has that name.
    #[serde(default)]
    pub namesake: Namesake,
    /// Who asks: whose inbox gets its events.
    #[serde(default)]
    pub session: Option<Label>,
    /// The unit of work it belongs to.
    #[serde(default)]
    pub task: Option<Label>,
    /// Pairs by which whoever starts it finds it again.
    #[serde(default)]
    pub labels: Labels,
    /// The command as it is shown, in place of the real one.
    #[serde(default)]
    pub shown_as: Option<String>,
    /// Where to run it: `local`, an address such as `ssh:HOST`, or the name of a configured place. Without one, here.
    #[serde(default)]
    pub place: Option<String>,
    /// The directory to run it in; without one, that of this process. At another place it is one of that place;
    /// without one, the configured one, else the login directory.
    #[serde(default)]
    pub cwd: Option<OsText>,
    /// What it reads from.
    #[serde(default, deserialize_with = "crate::strict::read")]
    pub input: Input,
    /// Whether its standard output and its standard error are told apart.
    #[serde(default)]
    pub streams: Streams,
    /// Set the variables that switch off colours, pagers and questions, unless they are given.
    #[serde(default)]
    pub plain: Option<bool>,
    /// Added to the environment that it inherits.
    #[serde(default)]
    pub variables: Vec<(OsText, OsText)>,
    /// What it inherits from the environment.
    #[serde(default)]
    pub environment: Environment,
    /// Stop it after this long; zero means never.
    #[serde(default, rename = "timeout_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub timeout: Option<Duration>,
    /// The time from TERM to KILL when it is stopped.
    #[serde(default, rename = "grace_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub grace: Option<Duration>,
    /// How many bytes of the output are kept; 0 for all of it.
    #[serde(default)]
    pub max_output: Option<u64>,
    /// For which ends its session is told.
    #[serde(default)]
    pub notify: Option<Notify>,
    /// Report lines of the output that match, while it runs.
    #[serde(default)]
    pub watch: Vec<Pattern>,
    /// Stop watching after this many matches.
    #[serde(default)]
    pub watch_limit: Option<u64>,
    /// The sign by which it is ready.
    #[serde(default, deserialize_with = "crate::strict::read")]
    pub ready: Option<Ready>,
    /// Report a silence of this length.
    #[serde(default, rename = "quiet_after_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub quiet_after: Option<Duration>,
    /// Only one job at a time has this lock.
    #[serde(default)]
    pub lock: Option<Label>,
    /// Start it when its turn in this queue comes.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// Start it after these jobs.
    #[serde(default)]
    pub after: Vec<After>,
    /// If the session runs this command in this directory already, return that job instead.
    #[serde(default)]
    pub unless_running: bool,
    /// Run this with a shell once it has ended, before the doorbells that the user has configured.
    #[serde(default)]
    pub on_end: Option<String>,
    /// Run the command again after it has ended, as another attempt of the same job.
    #[serde(default)]
    pub restart: Option<Restart>,
    /// What becomes of processes that outlive the command.
    #[serde(default)]
    pub leftovers: Leftovers,
    /// A file that the output is also appended to.
    #[serde(default)]
    pub log: Option<OsText>,
    /// Keep the machine awake while it runs.
    #[serde(default)]
    pub keep_awake: bool,
    /// What it may use at most.
    #[serde(default, deserialize_with = "crate::strict::read")]
    pub limits: Limits,
    /// A text that a setter was given and that cannot be used: the start is refused with it.
    #[serde(
        skip_deserializing,
        skip_serializing_if = "Option::is_none",
        serialize_with = "refusal::refuse"
    )]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub(super) refused: Option<BadSetting>,
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
            labels: Labels::new(),
            shown_as: None,
            place: None,
            cwd: None,
            input: Input::Null,
            streams: Streams::Merged,
            plain: None,
            variables: Vec::new(),
            environment: Environment::default(),
            timeout: None,
            grace: None,
            max_output: None,
            notify: None,
            watch: Vec::new(),
            watch_limit: None,
            ready: None,
            quiet_after: None,
            lock: None,
            queue: None,
            after: Vec::new(),
            unless_running: false,
            on_end: None,
            restart: None,
            leftovers: Leftovers::Keep,
            log: None,
            keep_awake: false,
            limits: Limits::default(),
            refused: None,
        }
    }

    /// A program and its arguments.
    pub fn argv<S: Into<OsText>>(argv: impl IntoIterator<Item = S>) -> Run {
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
            Err(reason) => self.refused = Some(BadSetting::Ready(reason)),
        }
        self
    }

    /// Where to run it: an address such as `ssh:HOST`, or the name of a configured place; `local` is here.
    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Run {
        self.place = Some(place.into());
        self
    }

    /// The directory to run it in.
    #[must_use]
    pub fn cwd(mut self, directory: impl Into<OsText>) -> Run {
        self.cwd = Some(directory.into());
        self
    }

    /// Adds a variable to its environment.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsText>, value: impl Into<OsText>) -> Run {
        self.variables.push((key.into(), value.into()));
        self
    }

    /// What it reads from: nothing, a pipe or a terminal.
    #[must_use]
    pub fn input(mut self, input: Input) -> Run {
        self.input = input;
        self
    }

    /// Tells its standard output and its standard error apart.
    #[must_use]
    pub fn split_streams(mut self) -> Run {
        self.streams = Streams::Split;
        self
    }

    /// Gives it a terminal of its own.
    #[must_use]
    pub fn pty(self) -> Run {
        self.input(Input::Pty(Size::DEFAULT))
    }

    /// Stops it after this long; zero means never, whatever the configuration says.
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
        self.notify = Some(notify);
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

    /// Runs the command again after it has ended, as another attempt of the same job.
    #[must_use]
    pub fn restart(mut self, rule: Restart) -> Run {
        self.restart = Some(rule);
        self
    }

    /// Checks what no type rules out. The start is refused with the first setting that cannot be used.
    pub fn check(&self) -> Result<(), BadSetting> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        if let Input::Pty(size) = self.input {
            size.check().map_err(BadSetting::Size)?;
            if self.streams == Streams::Split {
                return Err(BadSetting::SplitTerminal);
            }
        }
        self.check_turns()?;
        if let Some(ready) = &self.ready {
            ready.check().map_err(BadSetting::Ready)?;
        }
        match self.restart {
            Some(_) if self.input != Input::Null => return Err(BadSetting::RestartWithInput),
            Some(rule) => rule.check().map_err(BadSetting::Restart)?,
            None => {}
        }
        if self.watch.len() > MAX_PATTERNS {
            return Err(BadSetting::Patterns(self.watch.len()));
        }
        labels::check(&self.labels)?;
        let shown_as = self.shown_as.as_deref();
        if shown_as.is_some_and(|text| text.trim().is_empty()) {
            return Err(BadSetting::EmptyShownAs);
        }
        if self.watch_limit == Some(0) {
            return Err(BadSetting::Zero("the limit of matches"));
        }
        if self.quiet_after == Some(Duration::ZERO) {
            return Err(BadSetting::Zero("the time of silence"));
        }
        self.limits.refusal()?;
        match self.max_output {
            Some(size) if size > 0 && size < MIN_OUTPUT => Err(BadSetting::SmallOutput(size)),
            _ => Ok(()),
        }
    }

    pub(crate) fn refuse_setting(&mut self, setting: BadSetting) {
        self.refused = Some(setting);
    }

    fn label(&mut self, what: &'static str, text: &str) -> Option<Label> {
        match Label::parse(text) {
            Ok(label) => Some(label),
            Err(reason) => {
                self.refused = Some(BadSetting::Label {
                    what,
                    text: text.to_owned(),
                    reason,
                });
                None
            }
        }
    }
}
