//! `outlive detach`

use super::run::{self, Options};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::os_text::OsText;
use outlive::verbs::detach;
use outlive::verbs::run::{Command, Started};
use std::ffi::OsString;
use std::path::PathBuf;

/// Start a job that also appends its output to a file, and print `PID <n> LOG <path>`
///
/// For programs that expect a process id and a log file. The options of the job are those of `outlive run`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "outlive detach [OPTIONS] <LOGFILE> [--] <COMMAND> [ARG]...")]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// File to append the output to; its directory is created
    #[arg(value_name = "LOGFILE")]
    log: PathBuf,
    /// Command to run, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, required = true)]
    command: Vec<OsString>,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let argv = args.command.into_iter().map(OsText::from).collect();
    let mut request = args.options.request(context, Command::Argv(argv))?;
    // So that somebody who expects it at a place is told that this verb works only here.
    request.place = run::place(None);
    let context = &context.speaking_for(request.session.as_ref());
    let (started, log) = detach::detach(&context.outlive, &args.log, request)?;
    let Started { job, notes, .. } = &started;
    for note in notes {
        context.say(&format!("outlive: note: {note}"));
    }
    if run::is_not_known_to_run(job) {
        context.noted_if_read(run::finish(context, job), || started.receipt.told())?;
        return Ok(Exit::of(job));
    }
    match context.json {
        true => context.print_json(job)?,
        false => {
            let pid = started
                .pid
                .map_or_else(|| "-".to_owned(), |pid| pid.to_string());
            context.print(&format!("PID {pid} LOG {}", log.display()))?;
        }
    }
    Ok(Exit::Success)
}
