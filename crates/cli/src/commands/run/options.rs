//! What can be asked of a job however it is started.

use crate::commands::{duration, positive_duration, size};
use crate::context::{Context, label};
use crate::exit::Failure;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, ValueEnum};
use outlive::verbs::run::{Command, Run};
use outlive::{Input, JobId, Leftovers, Namesake, Notify, Pattern, Ready, Size, bound, count};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// What can be asked of a job however it is started.
#[derive(Debug, Default, clap::Args)]
#[command(group = ArgGroup::new("watched").multiple(true).args(["watch", "watch_regex", "watch_not", "watch_not_regex"]))]
pub struct Options {
    /// A name to call it by. Refused while another job of this session has it and runs
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Stop the running job of that name first
    #[arg(long, requires = "name")]
    replace: bool,
    /// An id of your own; a second start with it is refused, so a start can be repeated safely
    #[arg(long)]
    id: Option<String>,
    /// Who asks [default: $OUTLIVE_SESSION, else the agent's own session]
    #[arg(long, value_name = "KEY")]
    pub(super) session: Option<String>,
    /// The unit of work it belongs to
    #[arg(long, value_name = "KEY")]
    pub(super) task: Option<String>,
    /// Where to run it [default: here]
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// Give it a terminal of its own [default size: 30x120]
    #[arg(long, value_name = "ROWSxCOLS", num_args = 0..=1, require_equals = true, value_parser = Size::parse, conflicts_with = "stdin")]
    pty: Option<Option<Size>>,
    /// What it reads from: nothing, or what is sent to it
    #[arg(long, value_enum, default_value_t = StdinArg::Null)]
    stdin: StdinArg,
    /// Have programs talk plainly: no colours, pagers, editors or questions (unless --env says so)
    #[arg(long)]
    plain: bool,
    /// Add a variable to the environment, which is inherited; repeatable
    #[arg(long, value_name = "K=V")]
    env: Vec<OsString>,
    /// Stop it after this long, counted from when the command is executed [0: never]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// From TERM to KILL when it is stopped [default: 2s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    grace: Option<Duration>,
    /// How much of its output is kept: the first quarter and the newest rest [default: 64M; 0: all]
    #[arg(long, value_name = "SIZE", value_parser = kept_size)]
    max_output: Option<u64>,
    /// When its session is to be told
    #[arg(long, value_enum, default_value_t = NotifyArg::End)]
    notify: NotifyArg,
    /// Tell of lines that hold this text, while it runs; repeatable
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    watch: Vec<String>,
    /// Tell of lines in which this regular expression matches; repeatable
    #[arg(long, value_name = "RE")]
    watch_regex: Vec<String>,
    /// Do not report lines that contain TEXT. Without --watch, report every other line; repeatable
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    watch_not: Vec<String>,
    /// The same for a regular expression
    #[arg(long, value_name = "RE")]
    watch_not_regex: Vec<String>,
    /// Watch for this many matches only (1: the first)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), requires = "watched")]
    watch_limit: Option<u64>,
    /// By what sign it is ready: line:REGEX, port:NUMBER or http:URL[=STATUS]
    #[arg(long, value_name = "SIGN", value_parser = Ready::parse)]
    ready: Option<Ready>,
    /// Tell when it has written nothing for this long, once a silence
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    quiet_after: Option<Duration>,
    /// Wait until no other job has this lock, and have it while it runs
    #[arg(long, value_name = "NAME")]
    lock: Option<String>,
    /// If the session runs this command in this directory already, print that job instead
    #[arg(long)]
    unless_running: bool,
    /// Run this with a shell once it has ended, the event as JSON on its standard input
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    on_end: Option<String>,
    /// What becomes of processes that outlive the command [default: keep; with --foreground: stop]
    #[arg(long, value_enum)]
    pub(super) leftovers: Option<LeftoversArg>,
    /// Hold off the machine's sleep while it runs (systemd-inhibit)
    #[arg(long)]
    keep_awake: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum NotifyArg {
    #[default]
    End,
    Failure,
    Never,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum StdinArg {
    #[default]
    Null,
    Pipe,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LeftoversArg {
    Keep,
    Stop,
}

impl Options {
    /// What the verb is asked.
    pub fn request(self, context: &Context, command: Command) -> Result<Run, Failure> {
        let watch = self.watched();
        Ok(Run {
            watch,
            watch_limit: self.watch_limit,
            ready: self.ready,
            quiet_after: self.quiet_after,
            lock: label("the lock", self.lock.as_deref())?,
            unless_running: self.unless_running,
            on_end: self.on_end,
            id: self
                .id
                .as_deref()
                .map(JobId::parse)
                .transpose()
                .map_err(outlive::Error::from)?,
            name: label("the name", self.name.as_deref())?,
            namesake: match self.replace {
                true => Namesake::Replace,
                false => Namesake::Refuse,
            },
            session: context.session(self.session.as_deref())?,
            task: label("the task", self.task.as_deref())?,
            cwd: self.cwd,
            input: match (self.pty, self.stdin) {
                (Some(size), _) => Input::Pty(size.unwrap_or(Size::DEFAULT)),
                (None, StdinArg::Pipe) => Input::Pipe,
                (None, StdinArg::Null) => Input::Null,
            },
            plain: self.plain,
            variables: self
                .env
                .into_iter()
                .map(variable)
                .collect::<Result<_, _>>()?,
            timeout: self.timeout,
            grace: self.grace,
            max_output: self.max_output,
            notify: match self.notify {
                NotifyArg::End => Notify::End,
                NotifyArg::Failure => Notify::Failure,
                NotifyArg::Never => Notify::Never,
            },
            leftovers: match self.leftovers {
                None | Some(LeftoversArg::Keep) => Leftovers::Keep,
                Some(LeftoversArg::Stop) => Leftovers::Stop,
            },
            keep_awake: self.keep_awake,
            ..Run::new(command)
        })
    }
}

impl Options {
    /// What is watched for.
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
        few @ 1..bound::LEAST => Err(format!(
            "{} is too little; at least {} bytes are kept, or 0 for all",
            count(few, "byte"),
            bound::LEAST
        )),
        size => Ok(size),
    }
}

fn variable(text: OsString) -> Result<(OsString, OsString), Failure> {
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(place) if place > 0 => {
            let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Ok((part(&bytes[..place]), part(&bytes[place + 1..])))
        }
        _ => Err(outlive::Error::BadVariable(text.to_string_lossy().into_owned()).into()),
    }
}
