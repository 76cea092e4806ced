//! `outlive run`

use super::{duration, positive_duration, size};
use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use crate::render;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, ValueEnum};
use outlive::config;
use outlive::doorbell;
use outlive::verbs::run::{self, Command, DEFAULT_GRACE, Run, Started};
use outlive::verbs::{show, wait};
use outlive::{
    Chunk, Follow, Input, Job, JobId, Leftovers, Notify, Pattern, Ready, Size, Watch, bound,
    missing_line,
};
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Start a job in the background; print its id and return
///
/// Returns once the command has been executed, or could not be (126, 127). The job has its own
/// session: nothing that happens to this process, its group or its terminal reaches it. No `&`,
/// `nohup`, `setsid` or redirection is needed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// Run this string with a shell (bash, else sh)
    #[arg(long, value_name = "STRING", conflicts_with = "command")]
    shell: Option<String>,
    /// Stay and follow the output, end with the job's code; with a duration, at most that long
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, value_parser = duration)]
    wait: Option<Option<Duration>>,
    /// The same as --wait
    #[arg(long, conflicts_with = "wait")]
    follow: bool,
    /// Return once it is ready (see --ready); at most this long, then 124
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, value_parser = duration, requires = "ready", conflicts_with_all = ["wait", "follow"])]
    wait_ready: Option<Option<Duration>>,
    /// The command and its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        required_unless_present = "shell"
    )]
    command: Vec<OsString>,
}

/// What can be asked of a job however it is started.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("watched").multiple(true).args(["watch", "watch_regex", "watch_not", "watch_not_regex"]))]
pub struct Options {
    /// A name to call it by
    #[arg(long)]
    name: Option<String>,
    /// An id of your own; a second start with it is refused, so a start can be repeated safely
    #[arg(long)]
    id: Option<String>,
    /// Who asks [default: $OUTLIVE_SESSION, else the agent's own session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// The unit of work it belongs to
    #[arg(long, value_name = "KEY")]
    task: Option<String>,
    /// Where to run it [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
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
    /// Stop it after this long, counted from when the command is executed
    #[arg(long, value_name = "DUR", value_parser = duration)]
    timeout: Option<Duration>,
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
    /// But of none that hold this text; alone, of all others; repeatable
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
    /// What becomes of processes that outlive the command
    #[arg(long, value_enum, default_value_t = LeftoversArg::Keep)]
    leftovers: LeftoversArg,
    /// Hold off the machine's sleep while it runs (systemd-inhibit)
    #[arg(long)]
    keep_awake: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NotifyArg {
    End,
    Failure,
    Never,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StdinArg {
    Null,
    Pipe,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LeftoversArg {
    Keep,
    Stop,
}

impl Options {
    /// What the verb is asked.
    pub fn request(self, context: &Context, command: Command) -> Result<Run, Failure> {
        let config = context.config()?;
        let doorbells = doorbell::resolve(&context.outlive, &config, self.on_end.as_deref())?;
        let watch = self.watched(&config.watch);
        Ok(Run {
            watch,
            breaker: config.breaker.rules(),
            still: config.watch.still,
            ready: self.ready,
            quiet_after: self.quiet_after,
            lock: label("the lock", self.lock.as_deref())?,
            unless_running: self.unless_running,
            doorbells,
            id: self
                .id
                .as_deref()
                .map(JobId::parse)
                .transpose()
                .map_err(outlive::Error::from)?,
            name: label("the name", self.name.as_deref())?,
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
            grace: self.grace.unwrap_or(DEFAULT_GRACE),
            max_output: match self.max_output {
                None => Some(bound::DEFAULT),
                Some(0) => None,
                Some(size) => Some(size),
            },
            notify: match self.notify {
                NotifyArg::End => Notify::End,
                NotifyArg::Failure => Notify::Failure,
                NotifyArg::Never => Notify::Never,
            },
            leftovers: match self.leftovers {
                LeftoversArg::Keep => Leftovers::Keep,
                LeftoversArg::Stop => Leftovers::Stop,
            },
            keep_awake: self.keep_awake,
            ..Run::new(command)
        })
    }
}

impl Options {
    /// What is watched for, if anything is.
    fn watched(&self, config: &config::Watch) -> Option<Watch> {
        let texts = self.watch.iter().cloned().map(Pattern::Text);
        let regexes = self.watch_regex.iter().cloned().map(Pattern::Regex);
        let not_texts = self.watch_not.iter().cloned().map(Pattern::NotText);
        let not_regexes = self.watch_not_regex.iter().cloned().map(Pattern::NotRegex);
        let patterns: Vec<Pattern> = texts
            .chain(regexes)
            .chain(not_texts)
            .chain(not_regexes)
            .collect();
        (!patterns.is_empty()).then_some(Watch {
            patterns,
            limit: self.watch_limit,
            spacing_ms: config.spacing.as_millis() as u64,
            strikes: config.strikes,
        })
    }
}

fn kept_size(text: &str) -> Result<u64, String> {
    match size(text).map_err(|error| error.to_string())? {
        few @ 1..bound::LEAST => Err(format!(
            "{few} bytes are too few; at least {} are kept, or 0 for all",
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

/// How long to stay with the job.
enum Stay {
    No,
    UntilItEnds,
    AtMost(Duration),
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let stay = match (args.wait, args.follow) {
        (Some(Some(limit)), _) => Stay::AtMost(limit),
        (Some(None), _) | (None, true) => Stay::UntilItEnds,
        (None, false) => Stay::No,
    };
    let wait_ready = args.wait_ready;
    let command = match args.shell {
        Some(script) => Command::Shell(script),
        None => Command::Argv(args.command),
    };
    let request = args.options.request(context, command)?;
    let started = run::run(&context.outlive, request)?;
    let Started { job, notes, .. } = &started;
    for note in notes {
        context.say(&format!("outlive: note: {note}"));
    }
    if started.already {
        context.say(&format!(
            "outlive: {} runs this already; nothing was started",
            job.id
        ));
    }
    match stay {
        _ if is_not_known_to_run(job) => {
            let exit = finish(context, job)?;
            context.noted(started.heard(&context.outlive));
            Ok(exit)
        }
        Stay::No if wait_ready.is_some() => until_ready(context, job, wait_ready.flatten()),
        Stay::No => {
            print_started(context, job)?;
            Ok(Exit::Success)
        }
        Stay::UntilItEnds => stay_with(context, job, None),
        Stay::AtMost(limit) => stay_with(context, job, Some(limit)),
    }
}

/// The command could not be executed, or nobody can tell whether it was.
pub fn is_not_known_to_run(job: &Job) -> bool {
    use outlive::Outcome::{Lost, NotStarted};
    matches!(job.outcome, Some(NotStarted { .. } | Lost { .. }))
}

fn print_started(context: &Context, job: &Job) -> Result<(), Failure> {
    match context.json {
        true => context.print_json(job),
        false => context.print(job.id.as_str()),
    }
}

/// For a job whose end is to be seen here.
pub fn finish(context: &Context, job: &Job) -> Result<Exit, Failure> {
    if context.json {
        context.print_json(job)?;
    }
    if !job
        .outcome
        .as_ref()
        .is_some_and(outlive::Outcome::is_success)
    {
        context.say(&format!("outlive: {}", render::line(job)));
    }
    Ok(Exit::of(job))
}

fn stay_with(context: &Context, job: &Job, limit: Option<Duration>) -> Result<Exit, Failure> {
    let until = limit.map(|limit| Instant::now() + limit);
    if !context.json && !follow(context, &job.id, limit)? {
        return yielded(context, job);
    }
    let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
    let how = wait::Wait {
        timeout,
        ..wait::Wait::default()
    };
    let waited = wait::wait(&context.outlive, std::slice::from_ref(&job.id), how)?;
    match waited.jobs.first() {
        Some(job) if job.has_ended() => {
            let exit = finish(context, job)?;
            context.noted(waited.heard(&context.outlive));
            Ok(exit)
        }
        _ => yielded(context, job),
    }
}

/// Prints the job once it is ready, or says why it is not.
fn until_ready(context: &Context, job: &Job, limit: Option<Duration>) -> Result<Exit, Failure> {
    let how = wait::Wait {
        what: wait::What::Ready,
        timeout: limit,
        ..wait::Wait::default()
    };
    let waited = wait::wait(&context.outlive, std::slice::from_ref(&job.id), how)?;
    let Some(job) = waited.jobs.first() else {
        return Ok(Exit::Unknown);
    };
    print_started(context, job)?;
    let exit = match (waited.met.first(), job.has_ended()) {
        (Some(true), _) => Exit::Success,
        (_, true) => {
            context.say(&format!(
                "outlive: it ended before it was ready: {}",
                render::line(job)
            ));
            match Exit::of(job) {
                exit if exit.code() == 0 => Exit::Unknown,
                exit => exit,
            }
        }
        (_, false) => {
            context.say("outlive: it is not ready yet, and goes on");
            Exit::OutOfTime
        }
    };
    context.noted(waited.heard(&context.outlive));
    Ok(exit)
}

/// Prints the output as it comes; says whether the job has ended.
fn follow(context: &Context, id: &JobId, limit: Option<Duration>) -> Result<bool, Failure> {
    let mut follow = Follow::new(&context.outlive, id, 0)?;
    if let Some(limit) = limit {
        follow = follow.at_most(limit);
    }
    loop {
        match follow.next_chunk()? {
            Chunk::Bytes { bytes, .. } => {
                let mut out = io::stdout().lock();
                out.write_all(&bytes)?;
                out.flush()?;
            }
            Chunk::Missing(range) => context.print(&missing_line(&range))?,
            Chunk::Ended => return Ok(true),
            Chunk::OutOfTime => return Ok(false),
        }
    }
}

/// Time is up: the job goes on, and its id is all there is to say.
fn yielded(context: &Context, job: &Job) -> Result<Exit, Failure> {
    context.say(&format!(
        "outlive: {} goes on in the background; `outlive wait {}` waits for it",
        job.id, job.id
    ));
    let job = show::show(&context.outlive, &job.id)?;
    print_started(context, &job)?;
    Ok(Exit::Success)
}
