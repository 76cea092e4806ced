//! `outlive serve`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::defaults::MCP_PATIENCE;
use outlive::serving::{self, Kept, Opened, Serving};
use outlive_http::Http;
use outlive_mcp::Options;
use serde::Serialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Serve every verb over HTTP
///
/// Prints a link with a token behind `#t=`: whoever has it can run commands as you. Another link, with --json or in the
/// note, only allows to look, and shows no secrets. Programs send the token as `Authorization: Bearer TOKEN`.
///
/// It ends when it is killed. The jobs continue, and the next one uses the same port and the same tokens, so that
/// programs go on.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Serve at this address [default: the one of the last time, else a free port of this machine (127.0.0.1)]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Make new tokens: links that were printed before no longer work
    #[arg(long)]
    new_tokens: bool,
    /// Allow an address that other machines can reach. The connection is not encrypted
    #[arg(long)]
    allow_remote: bool,
    /// Accept requests that name this host; repeatable
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
}

/// What is printed with --json.
#[derive(Serialize)]
struct Links {
    /// Where it is served.
    url: String,
    /// With the token of the owner.
    link: String,
    /// With the token of somebody who may only look.
    read_only_link: String,
}

impl Links {
    fn of(kept: &Kept) -> Links {
        let url = format!("http://{}/", reachable(kept.address));
        Links {
            link: link(&url, &kept.owner),
            read_only_link: link(&url, &kept.reader),
            url,
        }
    }
}

/// A browser never sends what is behind `#`, so no log gets it.
fn link(url: &str, token: &str) -> String {
    format!("{url}#t={token}")
}

/// An address that can be reached on this machine.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), address.port()),
        false => address,
    }
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let (serving, last) = match Serving::open(&context.outlive)? {
        Opened::Free(serving, last) => (serving, last),
        Opened::Served(other) => return already(context, &args, other),
    };
    let mut kept = match last.filter(|_| !args.new_tokens) {
        Some(kept) => kept,
        None => Kept {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            owner: serving::token()?,
            reader: serving::token()?,
        },
    };
    kept.address = args.listen.unwrap_or(kept.address);
    if !kept.address.ip().is_loopback() && !args.allow_remote {
        return Err(Failure::Server(io::Error::other(format!(
            "other machines can reach {}, and anyone who has the token can run commands; pass --allow-remote if you want that",
            kept.address
        ))));
    }
    let served = match serve(context, &args, &serving, &kept) {
        // Another program has taken the port since the last time.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && args.listen.is_none() => {
            context.say(&format!(
                "outlive: the port of {} is taken; taking another one",
                kept.address
            ));
            kept.address.set_port(0);
            serve(context, &args, &serving, &kept)
        }
        other => other,
    };
    served.map_err(Failure::Server)?;
    Ok(Exit::Success)
}

/// Serves until this process is killed.
fn serve(context: &Context, args: &Args, serving: &Serving, kept: &Kept) -> io::Result<()> {
    let http = Http {
        address: kept.address,
        hosts: args.allow_host.clone(),
        owner: kept.owner.clone(),
        reader: kept.reader.clone(),
        ticket: None,
    };
    let outlive = context.outlive.clone().called_by(outlive::Caller::Unknown);
    let mcp = outlive.clone();
    let mount = |guard| outlive_mcp::router(mcp, mcp_options(), guard);
    outlive_http::serve(outlive, &http, mount, |listening| {
        let kept = Kept {
            address: listening.address,
            ..kept.clone()
        };
        serving.keep(&kept).map_err(io::Error::other)?;
        let links = Links::of(&kept);
        say(context, &links).map_err(|failure| io::Error::other(failure.to_string()))
    })
}

fn mcp_options() -> Options {
    Options {
        session: None,
        all_sessions: false,
        compat: false,
        caller_argument: false,
        patience: MCP_PATIENCE,
    }
}

fn say(context: &Context, links: &Links) -> Result<(), Failure> {
    if context.json {
        return context.print_json(links);
    }
    context.say("outlive: whoever has this link can run commands as you");
    context.print(&links.link)?;
    context.say(&format!(
        "outlive: to let somebody only look: {}",
        links.read_only_link
    ));
    Ok(())
}

/// Another process serves this home. Its link serves just as well.
fn already(context: &Context, args: &Args, other: Option<Kept>) -> Result<Exit, Failure> {
    let Some(kept) = other.filter(|_| !args.new_tokens && args.listen.is_none()) else {
        return Err(Failure::Server(io::Error::other(
            "another `outlive serve` serves this home; end it first",
        )));
    };
    context.say("outlive: another `outlive serve` serves this home already; this is its link");
    let links = Links::of(&kept);
    match context.json {
        true => context.print_json(&links)?,
        false => context.print(&links.link)?,
    }
    Ok(Exit::Success)
}
