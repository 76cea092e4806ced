//! `outlive mcp`

use super::duration;
use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use outlive::defaults::MCP_PATIENCE;
use outlive_mcp::{Http, Options};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serve the verbs to an agent as MCP tools, over standard input and output or HTTP
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
    /// How long the client waits for an answer: what waits answers by then [default: 45s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    patience: Option<Duration>,
    /// Offer one more tool, `process`, with the actions that some harnesses teach their models
    #[arg(long)]
    compat: bool,
    /// Serve over HTTP at this address instead (127.0.0.1:0 takes a free port), until killed
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// The token clients must send, in a file only you can read [default: a new one, said on stderr]
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Let the address be one that other machines reach
    #[arg(long, requires = "http")]
    allow_remote: bool,
    /// A name of this machine that requests may be made to; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let options = Options {
        session: label("the session", args.session.as_deref())?,
        all_sessions: args.all_sessions,
        compat: args.compat,
        patience: args.patience.unwrap_or(MCP_PATIENCE),
    };
    let outlive = context.outlive.clone();
    let served = match args.http {
        None => outlive_mcp::serve(outlive, options),
        Some(address) => {
            let http = Http {
                address,
                allow_remote: args.allow_remote,
                hosts: args.allow_host,
                token_file: args.token_file,
            };
            outlive_mcp::serve_http(outlive, options, &http, |listening| {
                context.say(&format!("outlive: serving MCP at {}", listening.url));
                if let Some(token) = &listening.made_token {
                    context.say(&format!("outlive: Authorization: Bearer {token}"));
                }
            })
        }
    };
    served.map_err(Failure::Server)?;
    Ok(Exit::Success)
}
