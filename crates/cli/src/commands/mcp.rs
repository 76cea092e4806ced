//! `outlive mcp`

use super::duration;
use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use outlive_mcp::Options;
use std::time::Duration;

/// Serve the verbs to an agent as MCP tools, over standard input and output
///
/// Ends when its input does; the jobs do not. An agent finds its jobs again by its session: the one given
/// here, else the one its requests name (as Codex's do), else the one in the environment (as of Claude
/// Code), else one that ends with this server.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose calls these are, whatever the client says
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Show jobs of other sessions too, and let them be stopped
    #[arg(long)]
    all_sessions: bool,
    /// How long the client waits for an answer: what waits answers by then
    #[arg(long, value_name = "DUR", default_value = "45s", value_parser = duration)]
    patience: Duration,
    /// Offer one more tool, `process`, with the actions that some harnesses teach their models
    #[arg(long)]
    compat: bool,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let options = Options {
        session: label("the session", args.session.as_deref())?,
        all_sessions: args.all_sessions,
        compat: args.compat,
        patience: args.patience,
    };
    outlive_mcp::serve(context.outlive.clone(), options).map_err(Failure::Server)?;
    Ok(Exit::Success)
}
