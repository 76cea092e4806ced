//! `outlive run`

mod environment;
mod foreground;
mod going_on;
mod limits;
mod options;
mod turns;

pub use options::{LeftoversArg, NotifyArg, Options};

use super::duration;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render;
use crate::sandbox;
use outlive::api::os_text::OsText;
use outlive::environment as variables;
use outlive::verbs::run::{self, Command, Run, Started};
use outlive::verbs::{show, wait};
use outlive::{Chunk, Follow, Job, JobId, Outcome, Stream, missing_line};
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Start a job in the background and print its id
///
/// Returns as soon as the command runs. If the command was not found, the exit code is 127; if it cannot
/// be executed, 126.
///
/// The job has a session of its own, so no signal to this process, its process group or its terminal
/// reaches it. You do not need `&`, `nohup`, `setsid` or redirections: the output is
/// kept (see --max-output), and `outlive log` prints it.
#[derive(Debug, Default, clap::Args)]
#[command(override_usage = USAGE, after_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub options: Options,
    /// Run the job there: at an SSH host (ssh:[USER@]HOST[:PORT]), at a place of your configuration (its name), or here
    /// (local) [default: $OUTLIVE_PLACE, else local]
    ///
    /// Everything else works as for a job here: `log`, `wait`, `stop`, `attach` and so on. Of your environment only what
    /// you name with --env goes there. --cwd is a directory of that place [default: its `cwd`, else the login
    /// directory].
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
    /// Run this string with a shell: bash, or sh if there is no bash
    #[arg(long, value_name = "STRING", conflicts_with = "command")]
    shell: Option<String>,
    /// Print the output until the job ends, and exit with its code. With DUR, return after at most that time
    /// (exit code 124); the job continues. Ctrl-C and Ctrl-Z end or suspend only this command, not the job
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, value_parser = duration)]
    wait: Option<Option<Duration>>,
    /// Same as --wait
    #[arg(long, conflicts_with = "wait")]
    follow: bool,
    /// Return when the job is ready (see --ready). With DUR, return after at most that time (exit code 124); the
    /// job continues
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, value_parser = duration, requires = "ready", conflicts_with_all = ["wait", "follow"])]
    wait_ready: Option<Option<Duration>>,
    /// Stay in the foreground, for a batch script (`exec outlive run …`) or as the first process of a container
    ///
    /// TERM or INT stops the job with its --grace. The output is copied to stdout, and the exit code is the job's
    /// own. If this process is killed (SIGKILL), the job is stopped too. Standard input is not passed to the job.
    #[arg(long, conflicts_with_all = ["wait", "follow", "wait_ready", "unless_running"])]
    foreground: bool,
    /// Command to run, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    command: Vec<OsString>,
}

const USAGE: &str = "outlive run [OPTIONS] [--] <COMMAND> [ARG]...
       outlive run [OPTIONS] --shell <STRING>";

const EXAMPLES: &str = "\
Examples:
  outlive run --name build -- cargo build
  outlive run --shell 'make && make test' --wait=30s
  outlive run --name web --ready port:8080 --wait-ready=60s -- npm start
  outlive run --watch ERROR --timeout 2h -- ./train.sh";

impl Args {
    /// A hint in case the command cannot be started: `--wait 5s` without `=` makes `5s` the command.
    fn split_duration(&self) -> Option<String> {
        let option = match (self.wait, self.wait_ready) {
            (Some(None), _) => "--wait",
            (_, Some(None)) => "--wait-ready",
            _ => return None,
        };
        let word = self.command.first()?.to_str()?;
        duration(word).ok()?;
        Some(format!("did you mean {option}={word}?"))
    }
}

/// How long to stay with the job.
enum Stay {
    No,
    UntilItEnds,
    AtMost(Duration),
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    if args.foreground {
        return foreground::run(context, args);
    }
    let stay = match (args.wait, args.follow) {
        (Some(Some(limit)), _) => Stay::AtMost(limit),
        (Some(None), _) | (None, true) => Stay::UntilItEnds,
        (None, false) => Stay::No,
    };
    let wait_ready = args.wait_ready;
    let hint = args.split_duration();
    let place = place(args.place);
    let mut request = request(context, args.options, args.shell, args.command)?;
    request.place = place;
    let context = &context.speaking_for(request.session.as_ref());
    let started = run::run(&context.outlive, request)?;
    let Started { job, notes, .. } = &started;
    for note in notes {
        context.say(&format!("outlive: note: {note}"));
    }
    if started.already {
        context.say(&format!(
            "outlive: job {} already runs this command; nothing was started",
            job.id
        ));
    }
    let _announced = match stay {
        Stay::No if wait_ready.is_none() => None,
        _ => going_on::announce(context, job),
    };
    match stay {
        _ if is_not_known_to_run(job) => {
            let printed = finish(context, job);
            if let (Some(hint), Some(Outcome::NotStarted { .. })) = (hint, &job.outcome) {
                context.say_error(&format!("outlive: {hint}"));
            }
            context.noted_if_read(printed, || started.receipt.told())?;
            Ok(Exit::of(job))
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

fn request(
    context: &Context,
    options: Options,
    shell: Option<String>,
    argv: Vec<OsString>,
) -> Result<Run, Failure> {
    let command = match shell {
        Some(script) => Command::Shell(script),
        None => Command::Argv(argv.into_iter().map(OsText::from).collect()),
    };
    options.request(context, command)
}

/// Where to run it, if that is said.
pub fn place(given: Option<String>) -> Option<String> {
    let usual = || variables::non_empty(variables::PLACE);
    let usual = || usual().map(|place| place.to_string_lossy().into_owned());
    given.or_else(usual).filter(|place| !place.is_empty())
}

/// Whether the command was not executed, or nobody knows whether it was.
pub fn is_not_known_to_run(job: &Job) -> bool {
    use Outcome::{Lost, NotStarted};
    matches!(job.outcome, Some(NotStarted { .. } | Lost { .. }))
}

pub fn print_started(context: &Context, job: &Job) -> Result<(), Failure> {
    match context.json {
        true => context.print_json(job),
        false => context.print(job.id.as_str()),
    }
}

/// Prints how the job ended.
pub fn finish(context: &Context, job: &Job) -> Result<(), Failure> {
    let line = || match sandbox::hint_for(job) {
        Some(hint) => format!("outlive: {}; {hint}", render::line(job)),
        None => format!("outlive: {}", render::line(job)),
    };
    match &job.outcome {
        Some(outcome) if outcome.is_success() => {}
        _ if is_not_known_to_run(job) => context.say_error(&line()),
        _ => context.say(&line()),
    }
    match context.json {
        true => context.print_json(job),
        false => Ok(()),
    }
}

fn stay_with(context: &Context, job: &Job, limit: Option<Duration>) -> Result<Exit, Failure> {
    let until = limit.map(|limit| Instant::now() + limit);
    if !context.json {
        let has_ended = match follow(context, &job.id, limit) {
            Err(failure) if failure.is_unread() => return unread(context, &job.id),
            has_ended => has_ended?,
        };
        if !has_ended {
            return yielded(context, job);
        }
    }
    let timeout = until.map(|until| until.saturating_duration_since(Instant::now()));
    let how = wait::Wait {
        timeout,
        ..wait::Wait::default()
    };
    let ids = std::slice::from_ref(&job.id);
    let waited = wait::wait_saying(&context.outlive, ids, how, &mut |place, why| {
        context.say_silent(place, why);
    })?;
    match waited.jobs.first() {
        Some(job) if job.has_ended() => {
            context.noted_if_read(finish(context, job), || waited.receipt.told())?;
            Ok(Exit::of(job))
        }
        _ => yielded(context, job),
    }
}

/// Waits until the job is ready. Prints its ID, and the reason if it is not ready.
fn until_ready(context: &Context, job: &Job, limit: Option<Duration>) -> Result<Exit, Failure> {
    let how = wait::Wait {
        what: wait::WaitFor::Ready,
        timeout: limit,
        ..wait::Wait::default()
    };
    let ids = std::slice::from_ref(&job.id);
    let waited = wait::wait_saying(&context.outlive, ids, how, &mut |place, why| {
        context.say_silent(place, why);
    })?;
    let Some(job) = waited.jobs.first() else {
        return Ok(Exit::Unknown);
    };
    let printed = print_started(context, job);
    let exit = match (waited.met.first(), job.has_ended()) {
        (Some(true), _) => Exit::Success,
        (_, true) => {
            context.say(&format!(
                "outlive: the job ended before it was ready: {}",
                render::line(job)
            ));
            match Exit::of(job) {
                exit if exit.code() == 0 => Exit::Unknown,
                exit => exit,
            }
        }
        (_, false) => {
            context.say(&format!(
                "outlive: {} is not ready yet; it continues",
                job.id
            ));
            Exit::OutOfTime
        }
    };
    context.noted_if_read(printed, || waited.receipt.told())?;
    Ok(exit)
}

/// Prints the output as it comes. Returns whether the job has ended.
fn follow(context: &Context, id: &JobId, limit: Option<Duration>) -> Result<bool, Failure> {
    let mut follow = Follow::new(&context.outlive, id, 0)?.telling_streams();
    if let Some(limit) = limit {
        follow = follow.at_most(limit);
    }
    let mut is_midline = false;
    let has_ended = loop {
        match follow.next_chunk()? {
            Chunk::Bytes { bytes, stream, .. } => {
                is_midline = bytes.last().is_some_and(|byte| *byte != b'\n');
                copy(&bytes, stream)?;
            }
            Chunk::Missing(range) => context.print(&missing_line(&range))?,
            Chunk::Ended => break true,
            Chunk::OutOfTime => break false,
        }
    };
    // What is said next has a line of its own.
    if is_midline && io::stdout().is_terminal() && io::stderr().is_terminal() {
        context.say("");
    }
    Ok(has_ended)
}

fn copy(bytes: &[u8], stream: Option<Stream>) -> io::Result<()> {
    if stream == Some(Stream::Stderr) {
        return io::stderr().lock().write_all(bytes);
    }
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The exit code when nobody reads the output any more: the job's own if it has ended, and never a success
/// that is not known.
fn unread(context: &Context, id: &JobId) -> Result<Exit, Failure> {
    let job = show::show(&context.outlive, id)?;
    match job.has_ended() {
        true => Ok(Exit::of(&job)),
        false => Err(Failure::Unread(id.clone())),
    }
}

/// Reports that the time is up and the job continues. The message goes to stderr, because stdout has the job's output.
fn yielded(context: &Context, job: &Job) -> Result<Exit, Failure> {
    context.say(&format!(
        "outlive: {} continues in the background; `outlive wait {}` waits for it",
        job.id, job.id
    ));
    if context.json {
        context.print_json(&show::show(&context.outlive, &job.id)?)?;
    }
    Ok(Exit::OutOfTime)
}
