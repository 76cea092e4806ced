//! The options that every verb that starts a job (`run`, `detach`) has.

use super::environment::EnvironmentOptions;
use super::limits::LimitArgs;
use super::turns::Turns;
use crate::commands::{duration, positive_duration, size};
use crate::context::{Context, label};
use crate::exit::Failure;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, ValueEnum};
use outlive::api::os_text::OsText;
use outlive::labels::{LabelKey, LabelValue, parse_pair};
use outlive::verbs::run::{Command, Run};
use outlive::{
    Input, JobId, Leftovers, Namesake, Notify, Pattern, Ready, Restart, Size, Streams, bound, count,
};
use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// What can be asked of a job however it is started.
#[derive(Debug, Default, clap::Args)]
#[command(group = ArgGroup::new("watched").multiple(true).args(["watch", "watch_regex", "watch_not", "watch_not_regex"]))]
pub struct Options {
    /// Give the job a name, which other commands take instead of its id. Fails if a running job of this session has
    /// that name
    #[arg(long)]
    pub(super) name: Option<String>,
    /// If a running job of this session has the same name, stop it first
    #[arg(long, requires = "name")]
    replace: bool,
    /// Choose the id. Fails if a job with this id exists, so a start can be repeated safely
    #[arg(long)]
    id: Option<String>,
    /// Session that is told how the job ends [default: $OUTLIVE_SESSION, else the agent's own session]
    #[arg(long, value_name = "KEY")]
    pub(super) session: Option<String>,
    /// Task that the job belongs to; `list --task` selects by it
    #[arg(long, value_name = "KEY")]
    pub(super) task: Option<String>,
    /// Give the job a label, by which `list`, `wait`, `stop`, `signal` and `prune` select it; repeatable
    #[arg(long, value_name = "K=V", value_parser = parse_pair)]
    label: Vec<(LabelKey, LabelValue)>,
    /// Show this text in place of the command, in lists, events and doorbells. The real command stays in `argv`
    #[arg(long = "as", value_name = "TEXT")]
    shown_as: Option<String>,
    /// Run the command in this directory [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Give the job a terminal of its own [default size: 30x120]
    #[arg(long, value_name = "ROWSxCOLS", num_args = 0..=1, require_equals = true, value_parser = Size::parse, conflicts_with = "stdin")]
    pty: Option<Option<Size>>,
    /// What the job reads on its standard input
    #[arg(long, value_enum, default_value_t = StdinArg::Null)]
    stdin: StdinArg,
    /// Whether stdout and stderr of the job are told apart
    #[arg(long, value_enum, default_value_t = StreamsArg::Merged)]
    streams: StreamsArg,
    /// Set variables that turn off colours, pagers, editors and questions in many programs (--env overrides them);
    /// --plain=false leaves them out if the configuration sets them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    plain: Option<bool>,
    /// Set an environment variable, beside those that the job inherits; K alone passes on the one of this process;
    /// repeatable
    #[arg(long, value_name = "K=V")]
    env: Vec<OsString>,
    #[command(flatten)]
    environment: EnvironmentOptions,
    /// Stop the job when its command has run for this long; 0 means no limit [default: 0, unless configured]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// How long to wait between TERM and KILL when the job is stopped [default: 2s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    grace: Option<Duration>,
    /// Keep this much output, and at most a sixteenth more: the beginning, up to a quarter of SIZE, and the newest
    /// output; 0 keeps all [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = kept_size)]
    max_output: Option<u64>,
    /// Which kind of end to report to the session [default: end, unless configured]
    #[arg(long, value_enum)]
    notify: Option<NotifyArg>,
    /// Report output lines that contain this text, while the job runs; repeatable
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    watch: Vec<String>,
    /// Report output lines that match this regular expression; repeatable
    #[arg(long, value_name = "RE")]
    watch_regex: Vec<String>,
    /// Do not report lines that contain TEXT. Without --watch, report every other line; repeatable
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    watch_not: Vec<String>,
    /// Do not report lines that match this regular expression; repeatable
    #[arg(long, value_name = "RE")]
    watch_not_regex: Vec<String>,
    /// Stop watching after N matches
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watched")]
    watch_limit: Option<u64>,
    /// Report when the job is ready: when it prints a line (line:REGEX), listens on a port (port:NUMBER) or answers
    /// over HTTP (http:URL[=STATUS])
    #[arg(long, value_name = "SIGN", value_parser = Ready::parse)]
    ready: Option<Ready>,
    /// Report when the job has written nothing for this long, once for each silence
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    quiet_after: Option<Duration>,
    #[command(flatten)]
    turns: Turns,
    /// If this session already runs the same command in the same directory, print that job and start nothing
    #[arg(long)]
    unless_running: bool,
    /// Run this shell command when the job has ended, with the event as JSON on its standard input; retried if it
    /// fails
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    on_end: Option<String>,
    /// Run the command again after it has ended, as another attempt of the same job: on-failure, on-failure:N (at most
    /// N times) or always. The pause before it is 1s, and doubles up to 1m until an attempt runs for 30s. --timeout
    /// limits each attempt; `stop` ends the job
    #[arg(long, value_name = "RULE", value_parser = Restart::parse)]
    restart: Option<Restart>,
    /// What to do with processes that the command leaves behind [default: keep; `run --foreground`: stop]
    #[arg(long, value_enum)]
    pub(super) leftovers: Option<LeftoversArg>,
    /// Keep the machine from going to sleep while the job runs (uses systemd-inhibit)
    #[arg(long)]
    keep_awake: bool,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum NotifyArg {
    /// Report every end
    End,
    /// Report the end unless the job succeeded
    Failure,
    /// Do not report the end
    Never,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum StdinArg {
    /// No input; the job reads end of file at once
    #[default]
    Null,
    /// What `outlive send` and `outlive attach` write
    Pipe,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum StreamsArg {
    /// One stream, in exactly the order in which it was written
    #[default]
    Merged,
    /// Two streams, which `outlive log --stdout` and `--stderr` show, or both in the order in which they arrived. `--wait`
    /// and `--foreground` copy stderr to stderr
    Split,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LeftoversArg {
    /// Let them run, and show how many there are
    Keep,
    /// Stop them when the command has ended
    Stop,
}

impl From<NotifyArg> for Notify {
    fn from(asked: NotifyArg) -> Notify {
        match asked {
            NotifyArg::End => Notify::End,
            NotifyArg::Failure => Notify::Failure,
            NotifyArg::Never => Notify::Never,
        }
    }
}

impl From<LeftoversArg> for Leftovers {
    fn from(asked: LeftoversArg) -> Leftovers {
        match asked {
            LeftoversArg::Keep => Leftovers::Keep,
            LeftoversArg::Stop => Leftovers::Stop,
        }
    }
}

impl Options {
    /// The request to the library.
    pub fn request(self, context: &Context, command: Command) -> Result<Run, Failure> {
        let watch = self.watched();
        let mut run = Run::new(command);
        run.watch = watch;
        run.watch_limit = self.watch_limit;
        run.ready = self.ready;
        run.quiet_after = self.quiet_after;
        self.turns.ask(context, &mut run)?;
        run.unless_running = self.unless_running;
        run.on_end = self.on_end;
        run.restart = self.restart;
        run.id = self
            .id
            .as_deref()
            .map(JobId::parse)
            .transpose()
            .map_err(outlive::Error::from)?;
        run.name = label("the name", self.name.as_deref())?;
        run.namesake = match self.replace {
            true => Namesake::Replace,
            false => Namesake::Refuse,
        };
        run.session = context.session(self.session.as_deref())?;
        run.task = label("the task", self.task.as_deref())?;
        run.labels = self.label.into_iter().collect();
        run.shown_as = self.shown_as;
        run.cwd = self.cwd.map(OsText::from);
        run.input = match (self.pty, self.stdin) {
            (Some(size), _) => Input::Pty(size.unwrap_or(Size::DEFAULT)),
            (None, StdinArg::Pipe) => Input::Pipe,
            (None, StdinArg::Null) => Input::Null,
        };
        run.streams = match self.streams {
            StreamsArg::Merged => Streams::Merged,
            StreamsArg::Split => Streams::Split,
        };
        run.plain = self.plain;
        run.variables = self
            .env
            .into_iter()
            .map(variable)
            .collect::<Result<_, _>>()?;
        run.timeout = self.timeout;
        run.grace = self.grace;
        run.max_output = self.max_output;
        run.environment = self.environment.request();
        run.notify = self.notify.map(Notify::from);
        run.leftovers = self.leftovers.map_or(Leftovers::Keep, Leftovers::from);
        run.keep_awake = self.keep_awake;
        run.limits = self.limits.limits();
        Ok(run)
    }
}

impl Options {
    /// The patterns to watch for.
    fn watched(&self) -> Vec<Pattern> {
        let texts = self.watch.iter().cloned().map(Pattern::Text);
        let regexes = self.watch_regex.iter().cloned().map(Pattern::Regex);
        let not_texts = self.watch_not.iter().cloned().map(Pattern::NotText);
        let not_regexes = self.watch_not_regex.iter().cloned().map(Pattern::NotRegex);
        texts
            .chain(regexes)
            .chain(not_texts)
            .chain(not_regexes)
            .collect()
    }
}

fn kept_size(text: &str) -> Result<u64, String> {
    match size(text).map_err(|error| error.to_string())? {
        few @ 1..bound::MIN_OUTPUT => Err(format!(
            "{} is too small; give at least {} bytes, or 0 to keep all output",
            count(few, "byte"),
            bound::MIN_OUTPUT
        )),
        size => Ok(size),
    }
}

fn variable(text: OsString) -> Result<(OsText, OsText), Failure> {
    let bytes = text.as_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=');
    // A lookup of an empty name or of one with a NUL finds nothing.
    let own = end.is_none().then(|| env::var_os(&text)).flatten();
    match (end, own) {
        (Some(place), _) if place > 0 => {
            let part = |bytes: &[u8]| OsText::from(bytes.to_vec());
            Ok((part(&bytes[..place]), part(&bytes[place + 1..])))
        }
        (None, Some(value)) => Ok((text.into(), value.into())),
        _ => Err(outlive::Error::BadVariable(text.to_string_lossy().into_owned()).into()),
    }
}
