//! The command line as a whole.

use crate::commands::{
    self, attach, completions, detach, doctor, doorbell, hook, inbox, list, log, man, mcp, post,
    prune, resize, run, send, session, setup, show, signal, stop, wait,
};
use crate::context::Context;
use crate::exit::{self, Exit, Failure};
use crate::lazily::Lazily;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use outlive::api::{self, failure::ErrorCode};
use std::ffi::OsString;
use std::io::{self, Write};
use std::mem;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs long commands so that the job outlives whatever started it, and its end is known exactly
#[derive(Debug, Parser)]
#[command(name = "outlive", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: the job's own for `wait`, `run --wait` and `run --foreground` (128+n after signal n); 124 out of time; \
125 outlive failed or the outcome is unknown; 126/127 the command could not be executed / was not found; \
2 wrong usage; 3 no such job."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options every command takes.
#[derive(Debug, Default, clap::Args)]
pub struct Global {
    /// Where all jobs are [default: $OUTLIVE_HOME, else the user's state directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Print no notes on stderr, only errors
    #[arg(long, global = true)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<Lazily<run::Args>>),
    #[command(visible_alias = "ps")]
    List(Lazily<list::Args>),
    Show(Lazily<show::Args>),
    Log(Lazily<log::Args>),
    Wait(Lazily<wait::Args>),
    #[command(visible_alias = "kill")]
    Stop(Lazily<stop::Args>),
    Signal(Lazily<signal::Args>),
    Send(Lazily<send::Args>),
    Attach(Lazily<attach::Args>),
    Resize(Lazily<resize::Args>),
    Inbox(Lazily<inbox::Args>),
    Setup(Lazily<setup::Args>),
    Hook(Lazily<hook::Args>),
    Post(Lazily<post::Args>),
    Session(Lazily<session::Args>),
    Prune(Lazily<prune::Args>),
    Detach(Box<Lazily<detach::Args>>),
    Doorbell(Lazily<doorbell::Args>),
    Mcp(Lazily<mcp::Args>),
    Doctor(Lazily<doctor::Args>),
    Completions(Lazily<completions::Args>),
    Man(Lazily<man::Args>),
}

pub fn run() -> ExitCode {
    let plain = run::plain::parse(std::env::args_os().skip(1));
    let cli = match plain
        .or_else(parse_named)
        .map_or_else(|| parse_whole(std::env::args_os()), Ok)
    {
        Ok(cli) => cli,
        // An exit code of 2 would be an answer.
        Err(error) if error.use_stderr() && is_hook(std::env::args_os().skip(1)) => {
            return commands::hook::refuse(&error.to_string());
        }
        Err(error) if error.use_stderr() => return refuse(&error),
        Err(error) => error.exit(),
    };
    let json = cli.global.json;
    if let Command::Hook(args) = &cli.command {
        return commands::hook::run(cli.global, &args.0);
    }
    match Context::new(cli.global).and_then(|context| dispatch(&context, cli.command)) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(json),
    }
}

/// Says what is wrong with the command line; as JSON too, where that was asked for. What was typed is repeated in
/// it, and may hold control characters.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let text = outlive::visible(&text);
    if std::env::args_os().any(|word| word == "--json") {
        exit::print_json(api::failure::Failure {
            code: ErrorCode::Usage,
            message: text.trim_end().to_owned(),
            data: None,
        });
    }
    let _ = write!(io::stderr(), "{text}");
    Exit::Usage.into()
}

/// Parses for the verb that comes first, which is all that is described to the parser: that takes most of
/// a launch. `None` where none does, or the rest is not as it should be.
fn parse_named() -> Option<Cli> {
    let name = std::env::args_os().nth(1)?;
    let all = Command::augment_subcommands(clap::Command::default());
    let verb = all.find_subcommand(&name)?.clone();
    let mut command = Global::augment_args(clap::Command::new("outlive")).subcommand(verb);
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    // To take them apart takes as long as to make them.
    mem::forget((all, command));
    Cli::from_arg_matches_mut(&mut matches.ok()?).ok()
}

/// Parses with every verb described: help and errors tell of them.
pub fn parse_whole(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    command.build();
    Cli::from_arg_matches(&command.try_get_matches_from(words)?)
}

fn dispatch(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => commands::run::run(context, args.0),
        Command::List(args) => commands::list::run(context, args.0),
        Command::Show(args) => commands::show::run(context, args.0),
        Command::Log(args) => commands::log::run(context, args.0),
        Command::Wait(args) => commands::wait::run(context, args.0),
        Command::Stop(args) => commands::stop::run(context, args.0),
        Command::Signal(args) => commands::signal::run(context, args.0),
        Command::Send(args) => commands::send::run(context, args.0),
        Command::Attach(args) => commands::attach::run(context, args.0),
        Command::Resize(args) => commands::resize::run(context, args.0),
        Command::Inbox(args) => commands::inbox::run(context, args.0),
        Command::Setup(args) => commands::setup::run(context, &args.0),
        // Served before there is a context, whose own failures would be answers.
        Command::Hook(_) => Ok(Exit::Success),
        Command::Post(args) => commands::post::run(context, args.0),
        Command::Session(args) => commands::session::run(context, args.0),
        Command::Prune(args) => commands::prune::run(context, args.0),
        Command::Detach(args) => commands::detach::run(context, args.0),
        Command::Doorbell(args) => commands::doorbell::run(context, args.0),
        Command::Mcp(args) => commands::mcp::run(context, args.0),
        Command::Doctor(args) => commands::doctor::run(context, args.0),
        Command::Completions(args) => commands::completions::run(context, args.0),
        Command::Man(args) => commands::man::run(context, args.0),
    }
}

/// Whether an agent's hook is meant, however wrong the rest may be.
fn is_hook(words: impl Iterator<Item = OsString>) -> bool {
    let mut words = words;
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--home") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            other => return other == Some("hook"),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
