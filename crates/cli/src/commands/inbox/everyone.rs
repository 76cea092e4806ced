//! `outlive inbox --all-sessions`: what no session has been told yet, for whoever looks after all of them.
//!
//! Each event is claimed, delivered and acked in the inbox of its own session, as its session would do it.

use super::{Args, block, say_problems, say_what_is_odd};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use outlive::api::event::Events;
use outlive::inbox::{Delivery, Event, Inbox, Selection, ack_of_any_session};
use outlive::verbs::inbox;

pub fn run(context: &Context, args: &Args) -> Result<Exit, Failure> {
    if !args.ack.is_empty() {
        ack_of_any_session(&context.outlive, &args.asked_ack(context)?)?;
        return Ok(Exit::Success);
    }
    let mut deliveries = Vec::new();
    let mut selection = args.selection();
    for inbox in Inbox::all(&context.outlive)? {
        let inbox = match args.claim {
            Some(claim) => inbox.claiming_for(claim),
            None => inbox,
        };
        if args.ack_all {
            say_problems(context, &inbox.ack_delivered()?);
        }
        let delivery = inbox::take(&inbox, selection)?;
        selection = without(selection, delivery.events().len());
        deliveries.push(delivery);
    }
    print(context, args, &deliveries)?;
    let is_held_back = deliveries.iter().any(Delivery::is_held_back);
    let is_empty = deliveries.iter().all(Delivery::is_empty);
    for delivery in deliveries {
        args.settle(delivery)?;
    }
    match (is_empty, is_held_back) {
        // There are events, but they cannot be told now.
        (true, true) => Ok(Exit::Unknown),
        _ => Ok(Exit::Success),
    }
}

/// What is left of a limit after some events were taken.
fn without(selection: Selection, taken: usize) -> Selection {
    Selection {
        limit: selection.limit.map(|limit| limit.saturating_sub(taken)),
        ..selection
    }
}

fn print(context: &Context, args: &Args, deliveries: &[Delivery]) -> Result<(), Failure> {
    for delivery in deliveries {
        say_what_is_odd(context, delivery);
    }
    let mut events: Vec<Event> = deliveries
        .iter()
        .flat_map(|delivery| delivery.events().to_vec())
        .collect();
    events.sort_by(|a, b| (a.at, &a.event).cmp(&(b.at, &b.event)));
    if args.is_json(context) {
        let last = deliveries.iter().flat_map(Delivery::last);
        return context.print_json(&Events {
            dropped: last.map(|(event, _)| event.clone()).collect(),
            events,
        });
    }
    if events.is_empty() {
        context.say("nothing new");
        return Ok(());
    }
    let blocks: Vec<String> = events.iter().map(of_session).collect();
    context.print(&format!("{}\n", blocks.join("\n\n")))
}

/// The text of an event, with the session that it is for.
fn of_session(event: &Event) -> String {
    match &event.session {
        Some(session) => format!("{session}: {}", block(event)),
        None => block(event),
    }
}
