//! `inbox`: what the session has not been told, asked for.

use super::{Hints, Verb};
use crate::away;
use crate::call::{Call, Come, seconds};
use crate::reply::{Refused, Reply, without_nulls};
use outlive::inbox::{EventId, Finish, InboxEvent, Taken};
use outlive::verbs::inbox::{self, How, Waiter};
use outlive::{agree, clock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

pub struct TakeInbox;

/// So many at once fit a reply.
const MOST: usize = 12;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Events to ack first, by id: those taken before with `hold`
    #[serde(default)]
    ack: Vec<String>,
    /// Do not ack what is taken now: it comes again in five minutes unless it is acked by id
    #[serde(default)]
    hold: bool,
    /// If there is nothing, wait for something, at most this long (default: 0)
    wait_seconds: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// What had not been told, the oldest first
    #[schemars(with = "Vec<EventAnswer>")]
    events: Vec<Value>,
    /// How many more wait
    more: usize,
}

/// An event, as a schema.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "events are told as the inbox gives them")]
struct EventAnswer {
    /// Its id
    event: String,
    kind: String,
    job: String,
    at: String,
    /// What to read
    text: String,
}

impl Verb for TakeInbox {
    type Args = Args;
    type Answer = Answer;
    const NAME: &'static str = "inbox";
    const TITLE: &'static str = "Take what is new";
    const DESCRIPTION: &'static str = "Take what this session has not been told yet: ends of jobs, \
watched lines, readiness, questions, finished delegations. Each is told once.\n\
You seldom need it: what is new is appended to the reply of every other tool. Use it to wait for whatever \
comes first of many jobs (`wait_seconds`), or, with `hold` and `ack`, to make sure that nothing is lost \
if you are interrupted while you act on it.";
    const HINTS: Hints = Hints::Adds;
    const TELLS: bool = false;

    fn call(call: &Call, args: Args) -> Result<Reply<Answer>, Refused> {
        let inbox = &call.inbox;
        let acked = args.ack.iter().map(|text| EventId::parse(text));
        let acked = acked
            .collect::<Result<Vec<EventId>, _>>()
            .map_err(outlive::Error::from)?;
        let acked = inbox::ack(inbox, &acked);
        let limit = seconds("wait_seconds", args.wait_seconds)?.unwrap_or(Duration::ZERO);
        let taken = take(call, call.patience.within(Some(limit)))?;
        let more = taken.more;
        let mut text = text(&taken.events, more, args.hold);
        if let Err(error) = &acked {
            // Perhaps acked before, by a call whose answer was lost. The news is told all the same.
            text.push_str(&format!("\n\nNot everything was acked: {error}."));
        }
        let events = taken.events.iter().map(serde_json::to_value);
        let events = events.map(|event| event.map(without_nulls));
        let events = events.collect::<Result<_, _>>()?;
        let mut reply = Reply::new(text, Answer { events, more });
        if !taken.events.is_empty() {
            let finish = if args.hold {
                Finish::Delivered
            } else {
                Finish::Told
            };
            reply.told.notes.push(away::finish(call, taken, finish));
        }
        Ok(reply)
    }
}

fn take(call: &Call, limit: Duration) -> Result<Taken, outlive::Error> {
    let inbox = &call.inbox;
    let how = How {
        most: MOST,
        ..How::default()
    };
    if limit.is_zero() {
        return inbox::take(inbox, how);
    }
    let mut waiter = Waiter::new(inbox)?;
    call.patience
        .stretches(limit, "waiting for news", |stretch| {
            let deadline = clock::boot_ms() + stretch.as_millis() as u64;
            let taken = waiter.next(how, Some(deadline))?;
            let come = if taken.events.is_empty() {
                Come::NotYet
            } else {
                Come::Yes
            };
            Ok((taken, come))
        })
}

fn text(events: &[InboxEvent], more: usize, hold: bool) -> String {
    if events.is_empty() {
        return "Nothing new.".to_owned();
    }
    let blocks = events
        .iter()
        .map(|event| format!("[{}] {}", event.event, event.text));
    let mut text = blocks.collect::<Vec<_>>().join("\n\n");
    if more > 0 {
        let wait = agree(more as u64, "waits", "wait");
        text.push_str(&format!("\n\n{more} more {wait}."));
    }
    if hold {
        text.push_str("\n\nAck them by their ids once you have acted on them, or they come again.");
    }
    text
}
