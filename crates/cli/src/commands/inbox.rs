//! `outlive inbox`

mod everyone;

use super::{duration, positive_duration};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use clap::ValueEnum;
use outlive::JobId;
use outlive::api::event::Events;
use outlive::clock;
use outlive::defaults::MAX_EVENTS_HOOK;
use outlive::inbox::{Ack, Delivery, Event, EventId, Inbox, Selection, ack_command, last_words};
use outlive::verbs::inbox::{self, Waiter};
use outlive_kit::agent::Agent;
use outlive_kit::hook::{self, Occasion};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::time::Duration;

/// Show what this session has not been told yet: ends of jobs, matches, readiness, posted work
///
/// Each event that is printed is claimed: for five minutes (see --claim) nobody else gets it. Ack it by its id within
/// that time; otherwise it is delivered again, with the same id. After the ack it is never delivered again.
///
/// `--ack-all` is the short way: it acks what was delivered before, prints what is new, and acks that too.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Show the inbox of this session [default: $OUTLIVE_SESSION, else the agent's own session]
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Show the inboxes of all sessions. This claims their events, too: use --peek to leave them to their sessions
    #[arg(long, conflicts_with_all = ["session", "wait", "follow", "hook"])]
    all_sessions: bool,
    /// If there is no event, wait for one. With DUR, wait at most that time, then exit with 124
    #[arg(long, value_name = "DUR", num_args = 0..=1, require_equals = true, value_parser = duration)]
    wait: Option<Option<Duration>>,
    /// Print events as they come, one JSON object per line, until interrupted
    #[arg(long, conflicts_with = "wait")]
    follow: bool,
    /// Leave out the event that a job has ended if `show` printed that job less than 5 minutes ago; the event stays in the inbox
    #[arg(long)]
    skip_shown: bool,
    /// Ack these events, or every event so far of a job, and print nothing
    #[arg(long, value_name = "EVENT|JOB", num_args = 1.., conflicts_with_all = ["wait", "follow", "ack_all", "peek"])]
    ack: Vec<String>,
    /// Ack what was delivered before; print what is new, and ack it once it is printed
    #[arg(long, conflicts_with = "peek")]
    ack_all: bool,
    /// How long nobody else gets the printed events; `inbox.claim` in the configuration changes the default
    /// [default: 5m]
    #[arg(long, value_name = "DUR", value_parser = positive_duration)]
    claim: Option<Duration>,
    /// Only look: do not claim the events and do not mark them as told
    #[arg(long)]
    peek: bool,
    /// Print at most N events, the oldest first
    #[arg(long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// Print events as text or as JSON [default: text; with --follow or --json, json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Print events in the form that this agent takes from a hook (claude-code, codex, …), and ack them
    #[arg(long, value_name = "AGENT", value_parser = Agent::parse, conflicts_with_all = ["follow", "format", "ack"])]
    hook: Option<Agent>,
}

const EXAMPLES: &str = "\
Examples:
  outlive inbox --ack-all          print what is new, once
  outlive inbox --wait=10m         wait for the next event
  outlive inbox --ack EVENT        ack an event that was printed before
  outlive inbox --ack JOB          ack everything about a job
  outlive inbox --all-sessions --peek
  outlive inbox --session ci --follow";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub fn run(context: &Context, args: Args) -> Result<Exit, Failure> {
    let context = &context.only_looking_if(args.peek);
    if args.all_sessions {
        return everyone::run(context, &args);
    }
    let session = context.session(args.session.as_deref())?;
    let session = session.ok_or(outlive::Error::NoSession)?;
    let mut inbox = Inbox::open(&context.outlive, session)?;
    if let Some(claim) = args.claim {
        inbox = inbox.claiming_for(claim);
    }
    if !args.ack.is_empty() {
        inbox::ack(&inbox, &args.asked_ack(context)?)?;
        return Ok(Exit::Success);
    }
    if args.ack_all {
        say_problems(context, &inbox.ack_delivered()?);
    }
    if args.follow {
        return follow(context, &inbox, &args);
    }
    let delivery = match args.wait {
        None => inbox::take(&inbox, args.selection())?,
        Some(limit) => {
            let deadline = limit.map(|limit| clock::boot() + limit);
            let stdout = io::stdout();
            let mut waiter = Waiter::new(&inbox)?.for_receiver(stdout.as_fd());
            let delivery = waiter.next(args.selection(), deadline)?;
            if waiter.receiver_is_gone() {
                return Ok(Exit::Success);
            }
            delivery
        }
    };
    match args.hook {
        Some(agent) => print_for(context, agent, &delivery)?,
        None => print(context, &args, &delivery)?,
    }
    let (is_empty, is_held_back) = (delivery.is_empty(), delivery.is_held_back());
    args.settle(delivery)?;
    match (args.wait, is_empty) {
        // There are events, but they cannot be told now.
        (_, true) if is_held_back => Ok(Exit::Unknown),
        (Some(_), true) => Ok(Exit::OutOfTime),
        _ => Ok(Exit::Success),
    }
}

impl Args {
    fn selection(&self) -> Selection {
        let limit = self.limit.map(NonZeroUsize::get);
        Selection {
            skip_shown: self.skip_shown,
            limit: match self.hook {
                Some(_) => Some(limit.unwrap_or(usize::MAX).min(MAX_EVENTS_HOOK)),
                None => limit,
            },
        }
    }

    /// What `--ack` names: events, and jobs or posts.
    fn asked_ack(&self, context: &Context) -> Result<Ack, Failure> {
        let mut ack = Ack::default();
        for text in &self.ack {
            match EventId::parse(text) {
                Ok(event) => ack.events.push(event),
                // Without a colon it names a job, or a post, which only its id finds.
                Err(bad) if text.contains(':') => return Err(outlive::Error::from(bad).into()),
                Err(bad) => ack.jobs.push(match context.outlive.find(text) {
                    Ok(id) => id,
                    Err(error) if error.is_no_such_job() => {
                        JobId::parse(text).map_err(|_| outlive::Error::from(bad))?
                    }
                    Err(error) => return Err(error.into()),
                }),
            }
        }
        Ok(ack)
    }

    fn is_json(&self, context: &Context) -> bool {
        match self.format {
            Some(format) => format == Format::Json,
            None => context.json,
        }
    }

    /// Records that the printed events were delivered, or acks them if that was asked for.
    fn settle(&self, delivery: Delivery) -> Result<(), Failure> {
        match self.ack_all || self.hook.is_some() {
            true => delivery.told()?,
            false => delivery.delivered()?,
        }
        Ok(())
    }
}

fn follow(context: &Context, inbox: &Inbox, args: &Args) -> Result<Exit, Failure> {
    let stdout = io::stdout();
    let mut waiter = Waiter::new(inbox)?.for_receiver(stdout.as_fd());
    // With --peek, events stay in the inbox, so remember which ones were printed.
    let mut seen = std::collections::HashSet::new();
    loop {
        let mut delivery = waiter.next(args.selection(), None)?;
        say_what_is_odd(context, &delivery);
        if waiter.receiver_is_gone() {
            return Ok(Exit::Success);
        }
        if args.peek {
            delivery = delivery.only(|event| seen.insert(event.event.clone()));
            if delivery.is_empty() {
                waiter.sleep_until_news(&delivery, None)?;
                continue;
            }
        }
        for event in delivery.events() {
            match args.format {
                Some(Format::Text) => context.print(&format!("{}\n", block(event)))?,
                Some(Format::Json) | None => context.print_json(event)?,
            }
        }
        args.settle(delivery)?;
    }
}

fn print(context: &Context, args: &Args, delivery: &Delivery) -> Result<(), Failure> {
    say_what_is_odd(context, delivery);
    if args.is_json(context) {
        return context.print_json(&Events {
            events: delivery.events().to_vec(),
            dropped: delivery.last().map(|(event, _)| event.clone()).collect(),
        });
    }
    if delivery.is_empty() {
        if !delivery.is_held_back() {
            context.say("nothing new");
        }
        return Ok(());
    }
    let blocks: Vec<String> = delivery.events().iter().map(block).collect();
    context.print(&format!("{}\n", blocks.join("\n\n")))?;
    let session = delivery
        .events()
        .iter()
        .find_map(|event| event.session.as_ref());
    if let (Some(session), false) = (session, args.ack_all || args.peek) {
        let command = ack_command(session, &delivery.ids());
        context.say(&format!("outlive: to ack: {command}"));
    }
    Ok(())
}

/// Prints the events as a hook of this agent would when a person submits a prompt.
fn print_for(context: &Context, agent: Agent, delivery: &Delivery) -> Result<(), Failure> {
    say_what_is_odd(context, delivery);
    if delivery.is_empty() {
        return Ok(());
    }
    let text = outlive_kit::verbs::hook::text(delivery);
    context.print(&hook::context(agent, Occasion::UserPromptSubmit, &text))
}

fn block(event: &Event) -> String {
    format!("[{}] {}", event.event, event.text)
}

fn say_what_is_odd(context: &Context, delivery: &Delivery) {
    for (event, why) in delivery.last() {
        context.say(&format!("outlive: {event}: {}", last_words(why)));
    }
    say_problems(context, delivery.problems());
}

fn say_problems<'a>(
    context: &Context,
    problems: impl IntoIterator<Item = &'a (outlive::JobId, String)>,
) {
    for (id, problem) in problems {
        context.say_error(&format!("outlive: {id} {problem}"));
    }
}
