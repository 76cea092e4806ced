//! `outlive session`

use crate::context::{Context, label};
use crate::exit::{Exit, Failure};
use clap::Subcommand;
use outlive::api::reply::SessionEndReply;
use outlive::inbox::Inbox;
use outlive::verbs::session::{self, EndSession, Ended, Running, Waiting};
use outlive::verbs::stop::Stop;
use outlive::{count, words};

/// Close a session
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Close a session: keep or drop the events in its inbox, and stop its jobs if asked
    End {
        /// Key of the session
        key: String,
        /// Drop the events that wait, and those that its running jobs will still produce
        #[arg(long, conflicts_with = "keep")]
        drop: bool,
        /// Keep the events that wait (the default)
        #[arg(long)]
        keep: bool,
        /// Stop its running jobs too. This answer tells how they ended, so its inbox does not
        #[arg(long)]
        stop: bool,
    },
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let Command::End {
        key, drop, stop, ..
    } = args.command;
    let Some(key) = label("the session", Some(&key))? else {
        return Err(outlive::Error::NoSession.into());
    };
    let asked = EndSession {
        waiting: if drop { Waiting::Drop } else { Waiting::Keep },
        running: match stop {
            true => Running::Stop(Stop {
                detail: Some(format!("the end of session {}", words::name(&key))),
                ..Stop::default()
            }),
            false => Running::Leave,
        },
    };
    let inbox = Inbox::open(&context.outlive, key)?;
    let ended = session::end(&inbox, &asked)?;
    print(context, &ended)?;
    for receipt in &ended.receipts {
        context.noted(receipt.told());
    }
    Ok(Exit::Success)
}

fn print(context: &Context, ended: &Ended) -> Result<(), Failure> {
    if context.json {
        return context.print_json(&SessionEndReply::from(ended));
    }
    context.print(&format!(
        "{} dropped, {} kept; {} stopped, {} still running",
        count(ended.dropped as u64, "event"),
        ended.kept,
        count(ended.stopped.len() as u64, "job"),
        ended.still_running.len()
    ))
}
