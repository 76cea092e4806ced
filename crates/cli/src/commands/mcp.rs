//! `outlive mcp`

use super::duration;
use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use outlive::defaults::MCP_PATIENCE;
use outlive_mcp::{Http, Options};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Serve the verbs to an agent as MCP tools, over standard input and output or over HTTP
///
/// Without --http, the server ends when its input ends. The jobs continue in any case.
///
/// An agent finds its jobs again by its session. That is the one given with --session or, without --http, in
/// OUTLIVE_SESSION, else the one that its requests name (Codex does), else the one in the environment (Claude Code
/// sets it), else a new one that ends with this server.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Serve this session, whatever the client says
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Let the client see and stop jobs of other sessions too
    #[arg(long)]
    all_sessions: bool,
    /// How long the client waits for an answer; a call that waits for a job answers within this time [default: 45s]
    #[arg(long, value_name = "DUR", value_parser = duration)]
    patience: Option<Duration>,
    /// Offer one more tool, `process`, with the actions that some agents teach their models
    #[arg(long)]
    compat: bool,
    /// Let a plugin of the client name the session in the argument `outlive_caller` of each call (opencode's does)
    #[arg(long, conflicts_with = "session")]
    caller_argument: bool,
    /// Serve over HTTP at this address until killed; port 0 takes a free port (127.0.0.1:0)
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// File that holds the token clients must send; only you may be able to read it [default: a new token, printed
    /// on stderr]
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Allow an address that other machines can reach
    #[arg(long, requires = "http")]
    allow_remote: bool,
    /// Accept requests that name this host; repeatable
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let options = Options {
        session: label("the session", args.session.as_deref())?,
        all_sessions: args.all_sessions,
        compat: args.compat,
        caller_argument: args.caller_argument,
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
