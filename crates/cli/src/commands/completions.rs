//! `outlive completions`

use crate::args::Cli;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print the completion script of a shell
///
/// For bash: outlive completions bash >~/.local/share/bash-completion/completions/outlive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "outlive", &mut script);
    context.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
