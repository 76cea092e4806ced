//! `outlive hook`
//!
//! A hook that fails exits with 0 and prints nothing, so that the agent continues. The agent would take another exit
//! code or any text for an answer, which could keep it from ending its turn.

use crate::args::Global;
use outlive::Outlive;
use outlive_kit::hook::{self, Answer, Call, NotServed};
use outlive_kit::verbs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::process::{self, ExitCode};

/// Serve an agent's hook: read its JSON on standard input, answer with the news of its session
///
/// Agents call this after `outlive setup`. If something goes wrong, it is written to `hook.log` in the home,
/// and the agent gets no answer and exit code 0, so that it continues.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The event: session-start, user-prompt-submit, post-tool-use, stop, or wait (wait for news, then exit with 2)
    event: String,
    /// Answer in the form of this agent, as `outlive setup` names it [default: recognised by its JSON]
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

/// This exit code wakes an agent whose hook ran in the background.
const WAKE: u8 = 2;

pub fn run(global: Global, args: &Args) -> ExitCode {
    let Ok(outlive) = global.home.map_or_else(Outlive::open, Outlive::open_at) else {
        return ExitCode::SUCCESS;
    };
    let outlive = outlive.as_own_keeper();
    exit_quietly_on_panic(&outlive, &args.event);
    match serve(&outlive, args) {
        Ok(code) => code,
        Err(why) => {
            hook::note(&outlive, &args.event, &why.to_string());
            ExitCode::SUCCESS
        }
    }
}

/// Handles a command line that cannot be parsed, perhaps from an agent that was set up by another release.
pub fn refuse(why: &str) -> ExitCode {
    if let Ok(outlive) = Outlive::open() {
        hook::note(&outlive, "hook", why);
    }
    ExitCode::SUCCESS
}

fn serve(outlive: &Outlive, args: &Args) -> Result<ExitCode, NotServed> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(NotServed::NoInput);
    }
    let call = Call::read(stdin.lock(), &args.event, args.agent.as_deref())?;
    let mut code = ExitCode::SUCCESS;
    verbs::hook::serve(outlive, &call, io::stderr().as_fd(), |answer| {
        code = deliver(answer)?;
        Ok(())
    })?;
    Ok(code)
}

fn deliver(answer: &Answer) -> io::Result<ExitCode> {
    match answer {
        Answer::Json(text) => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            Ok(ExitCode::SUCCESS)
        }
        Answer::Wake(text) => {
            io::stderr().write_all(text.as_bytes())?;
            Ok(ExitCode::from(WAKE))
        }
    }
}

/// A panic must not become an answer either.
fn exit_quietly_on_panic(outlive: &Outlive, event: &str) {
    let (outlive, event) = (outlive.clone(), event.to_owned());
    std::panic::set_hook(Box::new(move |panic| {
        hook::note(&outlive, &event, &panic.to_string());
        process::exit(0);
    }));
}
