//! `inbox`: takes the events that the session has not been told.

use super::{Hints, Verb};
use crate::call::{Call, WaitResult, seconds};
use crate::reply::{Refused, Reply};
use outlive::api::event::Event;
use outlive::defaults::MAX_EVENTS_TAKEN;
use outlive::inbox::{Ack, Delivery, EventId, Selection};
use outlive::verbs::inbox::{self, Waiter};
use outlive::{agree, clock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub struct TakeInbox;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Ids of events to ack first, which you took with `hold`, or of jobs
    #[serde(default)]
    ack: Vec<String>,
    /// Do not ack what is taken now: unless you ack it, it is delivered again after five minutes
    #[serde(default)]
    hold: bool,
    /// Wait this long for an event if there is none (default: 0)
    wait_seconds: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The events, the oldest first
    events: Vec<Event>,
    /// How many more events wait
    #[serde(skip_serializing_if = "is_zero")]
    more: usize,
    /// What to know about them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Verb for TakeInbox {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "inbox";
    const TITLE: &'static str = "Take what is new";
    const DESCRIPTION: &'static str = "\
Take what this session has not been told yet: ends of jobs, watched lines, readiness, questions, finished \
delegations. Each is delivered once.\n\
You seldom need it if `run` says that you will be told. Use it to wait for the first event of many jobs \
(`wait_seconds`), or, with `hold` and `ack`, to lose nothing if you are interrupted while you act on it.";
    const HINTS: Hints = Hints::Adds;
    const TELLS: bool = false;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let inbox = &call.inbox;
        let acked = inbox::ack(inbox, &asked_ack(call, &args.ack)?);
        let limit = seconds("wait_seconds", args.wait_seconds)?.unwrap_or(Duration::ZERO);
        let delivery = take(call, call.patience.within(Some(limit)))?;
        let more = delivery.more();
        let mut text = text(delivery.events(), more);
        let mut notes = Vec::new();
        if args.hold && !delivery.is_empty() {
            notes.push("ack them by their ids when you have acted on them; otherwise they are delivered again".to_owned());
        }
        if let Err(error) = &acked {
            // An earlier call with a lost answer may have acked them. The news is told anyway.
            notes.push(format!("not every event was acked: {error}"));
        }
        for note in &notes {
            text.push_str(&format!("\n\nNote: {note}."));
        }
        let events = delivery.events().to_vec();
        let answer = Answer {
            events,
            more,
            notes,
        };
        let mut reply = Reply::new(text, answer);
        if !delivery.is_empty() {
            reply = reply.then(move || match args.hold {
                true => delivery.delivered(),
                false => delivery.told(),
            });
        }
        Ok(reply)
    }
}

/// An event has a colon in its id, and a job has none.
fn asked_ack(call: &Call, texts: &[String]) -> Result<Ack, Refused> {
    let mut ack = Ack::default();
    for text in texts {
        match text.contains(':') {
            true => ack
                .events
                .push(EventId::parse(text).map_err(outlive::Error::from)?),
            false => ack.jobs.push(call.find(text)?),
        }
    }
    Ok(ack)
}

fn take(call: &Call, limit: Duration) -> Result<Delivery, outlive::Error> {
    let inbox = &call.inbox;
    let selection = Selection {
        limit: Some(MAX_EVENTS_TAKEN),
        ..Selection::default()
    };
    if limit.is_zero() {
        return inbox::take(inbox, selection);
    }
    let mut waiter = Waiter::new(inbox)?;
    call.patience
        .stretches(limit, "waiting for news", |stretch| {
            let deadline = clock::boot() + stretch;
            let delivery = waiter.next(selection, Some(deadline))?;
            let come = if delivery.is_empty() {
                WaitResult::NotYet
            } else {
                WaitResult::Yes
            };
            Ok((delivery, come))
        })
}

fn text(events: &[Event], more: usize) -> String {
    if events.is_empty() {
        return "No new events.".to_owned();
    }
    let blocks = events
        .iter()
        .map(|event| format!("[{}] {}", event.event, event.text));
    let mut text = blocks.collect::<Vec<_>>().join("\n\n");
    if more > 0 {
        let wait = agree(more as u64, "waits", "wait");
        text.push_str(&format!("\n\n{more} more {wait}."));
    }
    text
}
