//! `outlive adopt`

use super::duration;
use super::run::{self, LeftoversArg, NotifyArg};
use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use clap::builder::NonEmptyStringValueParser;
use outlive::verbs::adopt::{self, Adopt};
use outlive::verbs::run::Started;
use outlive::{JobId, Leftovers};
use std::time::Duration;

/// Make a job of a process that already runs, and print its id
///
/// For a command that was started with `&` before anybody thought of a job. Its end is noticed and reported, `stop`
/// reaches it with the processes it started, and it is listed like any job.
///
/// What a running process has cannot be changed: its output stays where it goes, and `send` cannot write to it. Its
/// exit code is known on Linux 6.15 and later; before that only its end is, and the outcome is `lost`. A process that
/// it started is found among its descendants, and in the process group or session that it leads.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Number of the process; `$!` in the shell that started it
    pid: i32,
    /// Give the job a name, which other commands take instead of its id. Fails if a running job of this session has
    /// that name
    #[arg(long)]
    name: Option<String>,
    /// Choose the id. Fails if a job with this id exists
    #[arg(long)]
    id: Option<String>,
    /// Session that is told how the job ends [default: $OUTLIVE_SESSION, else the agent's own session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Task that the job belongs to; `list --task` selects by it
    #[arg(long, value_name = "KEY")]
    task: Option<String>,
    /// Stop the job this long after the adoption; 0 means no limit [default: 0]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    timeout: Option<Duration>,
    /// How long to wait between TERM and KILL when the job is stopped [default: 2s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    grace: Option<Duration>,
    /// Which kind of end to report to the session
    #[arg(long, value_enum, default_value_t = NotifyArg::End)]
    notify: NotifyArg,
    /// Run this shell command when the job has ended, with the event as JSON on its standard input; retried if it
    /// fails
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    on_end: Option<String>,
    /// What to do with processes that it leaves behind [default: keep]
    #[arg(long, value_enum)]
    leftovers: Option<LeftoversArg>,
    /// Adopt it even if it started this process; a stop of the job then ends this process, too
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  make -j8 >build.log 2>&1 & outlive adopt $! --name build
  outlive adopt 4242 --timeout 2h";

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let request = request(context, args)?;
    let context = &context.speaking_for(request.session.as_ref());
    let started = adopt::adopt(&context.outlive, request)?;
    let Started { job, notes, .. } = &started;
    for note in notes {
        context.say(&format!("outlive: note: {note}"));
    }
    run::print_started(context, job)?;
    Ok(Exit::Success)
}

fn request(context: &Context, args: Args) -> Result<Adopt, Failure> {
    let mut adopt = Adopt::pid(args.pid);
    let id = args.id.as_deref().map(JobId::parse);
    adopt.id = id.transpose().map_err(outlive::Error::from)?;
    adopt.name = label("the name", args.name.as_deref())?;
    adopt.session = context.session(args.session.as_deref())?;
    adopt.task = label("the task", args.task.as_deref())?;
    adopt.timeout = args.timeout;
    adopt.grace = args.grace;
    adopt.notify = args.notify.into();
    adopt.on_end = args.on_end;
    adopt.leftovers = args.leftovers.map_or(Leftovers::Keep, Leftovers::from);
    adopt.force = args.force;
    Ok(adopt)
}
