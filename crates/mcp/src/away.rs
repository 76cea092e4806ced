//! "While you were away": what the session has not been told yet is appended to whatever it asks.
//!
//! Events are claimed before the reply is made and acked once it is out (`delivery`), as with every
//! other consumer of an inbox.

use crate::call::Call;
use crate::reply::Said;
use outlive::inbox::{EventId, Inbox, InboxEvent, Kind, Shown};
use outlive::verbs::inbox::{self, How, Take};
use outlive::{Error, JobId};

/// At most so many at once: each may show two thousand characters of output.
const MOST: usize = 8;

/// Appends what waits. That it cannot be read withholds nothing: it stays, and is told later.
pub fn append(call: &Call, said: &mut Said) {
    let covers = std::mem::take(&mut said.told.covers);
    let running = std::mem::take(&mut said.told.running);
    let Ok(Some((events, more))) = take(call, &covers, running) else {
        return;
    };
    let ids: Vec<EventId> = events.iter().map(|event| event.event.clone()).collect();
    if said.append(&events, more).is_ok() && !ids.is_empty() {
        said.told.notes.push(ack(call, ids));
    }
}

/// What marks these as told.
pub fn ack(call: &Call, events: Vec<EventId>) -> crate::delivery::Note {
    let (session, rules) = (call.session.clone(), call.rules);
    Box::new(move |outlive| inbox::ack(&Inbox::new(outlive, session, rules), &events))
}

/// The events to tell, and how many are left for later.
fn take(
    call: &Call,
    covers: &[(JobId, Kind)],
    running: Vec<JobId>,
) -> Result<Option<(Vec<InboxEvent>, usize)>, Error> {
    // One reply does not say of a job that it runs and that it has ended.
    let inbox = call.inbox().without_ends_of(running);
    let is_new = |event: &InboxEvent| {
        !covers
            .iter()
            .any(|(id, kind)| (id, kind) == (&event.job, &event.kind))
    };
    let how = |take| How {
        take,
        shown: Shown::LeaveOut,
        most: MOST,
    };
    // What the reply itself tells need not be claimed: others may be told of it if it never arrives.
    if !covers.is_empty()
        && !inbox::take(&inbox, how(Take::Peek))?
            .events
            .iter()
            .any(is_new)
    {
        return Ok(None);
    }
    let mut events = inbox::take(&inbox, how(Take::Claim))?.events;
    let more = match events.len() < MOST {
        true => 0,
        false => inbox.waiting()?.saturating_sub(events.len()),
    };
    events.retain(is_new);
    Ok(Some((events, more)))
}
