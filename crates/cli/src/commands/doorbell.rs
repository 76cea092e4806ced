//! `outlive doorbell`

use crate::context::Context;
use crate::exit::{Exit, Failure};
use clap::Subcommand;
use outlive::Error;
use outlive::api::os_text::OsText;
use outlive::api::reply::{DoorbellInfo, DoorbellKind, DoorbellList, DoorbellTestReply};
use outlive::config::{Bell, Config, Kind};
use outlive_doorbell::{self as doorbell, MAX_EVENT};
use std::io::{self, Read};

/// List or test the doorbells: what is notified when jobs end
///
/// A doorbell is a webhook, a desktop notification or a command. Doorbells are the [[doorbell]] tables of
/// config.toml in the home, else in your configuration directory. They ring for jobs that start after they
/// were configured.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the configured doorbells
    List,
    /// Ring a doorbell with a sample event, and say whether that worked
    Test {
        /// Name of the doorbell
        name: String,
    },
    /// Ring one with the event on standard input; what keepers run
    #[command(hide = true)]
    Ring {
        /// Name of the doorbell
        name: String,
        /// Run this with a shell, whatever the configuration says
        #[arg(long)]
        command: Option<String>,
    },
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let config = || Config::load(&context.outlive).map_err(Error::from);
    let in_full = |event| doorbell::in_full(&context.outlive, event);
    match args.verb {
        Verb::List => list(context, &config()?)?,
        Verb::Test { name } => test(context, &config()?, &name)?,
        Verb::Ring { name, command } => {
            let event = in_full(event()?);
            match command {
                Some(command) => {
                    return Err(doorbell::become_command(&name, &command, &event).into());
                }
                None => doorbell::ring(&config()?, &name, &event)?,
            }
        }
    }
    Ok(Exit::Success)
}

fn list(context: &Context, config: &Config) -> Result<(), Failure> {
    let list = DoorbellList {
        file: config.file.clone().map(OsText::from),
        doorbells: config.doorbells.iter().map(info).collect(),
    };
    if context.json {
        return context.print_json(&list);
    }
    let names = list.doorbells.iter().map(|bell| bell.name.as_str());
    let Some(width) = names.map(|name| name.chars().count()).max() else {
        context.say("no doorbells");
        return Ok(());
    };
    for bell in &list.doorbells {
        context.print(&format!(
            "{:width$}  {:7}  {:7}  {}",
            bell.name,
            bell.kind.as_str(),
            bell.on.as_str(),
            bell.target
        ))?;
    }
    Ok(())
}

fn test(context: &Context, config: &Config, name: &str) -> Result<(), Failure> {
    doorbell::ring(config, name, &doorbell::sample(name))?;
    match (context.json, config.doorbell(name)) {
        (true, _) => context.print_json(&DoorbellTestReply {
            name: name.to_owned(),
            rung: true,
        }),
        (false, Some(bell)) => context.print(&format!("{name} rang: {}", target(bell))),
        (false, None) => Ok(()),
    }
}

fn event() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // One byte more than allowed, so that an event that is too large is noticed.
    let mut input = io::stdin().lock().take(MAX_EVENT + 1);
    match input.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(source) => Err(Failure::from(Error::Io {
            what: "cannot read the event from",
            path: "standard input".into(),
            source,
        })),
    }
}

fn info(bell: &Bell) -> DoorbellInfo {
    DoorbellInfo {
        name: bell.name.to_string(),
        kind: match bell.kind {
            Kind::Webhook(_) => DoorbellKind::Webhook,
            Kind::Desktop => DoorbellKind::Desktop,
            Kind::Command(_) => DoorbellKind::Command,
        },
        on: bell.on,
        target: target(bell),
    }
}

/// Where the doorbell rings, without parts that may be secret.
fn target(bell: &Bell) -> String {
    match &bell.kind {
        Kind::Webhook(webhook) => match webhook.secret {
            Some(_) => format!("{} (signed)", webhook.url),
            None => webhook.url.to_string(),
        },
        Kind::Desktop => "this machine's desktop".to_owned(),
        Kind::Command(command) => match command.trim().split_once('\n') {
            Some((first, _)) => format!("{first} …"),
            None => command.trim().to_owned(),
        },
    }
}
