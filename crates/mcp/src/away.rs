//! "While you were away": what the session has not been told yet is appended to whatever it asks.
//!
//! Events are claimed before the reply is made and acked once it is out (`delivery`), as with every
//! other consumer of an inbox.

use crate::call::Call;
use crate::reply::Said;
use outlive::defaults::MAX_EVENTS_BESIDE;
use outlive::inbox::{Delivery, InboxEvent, Kind, Selection};
use outlive::verbs::inbox;
use outlive::{Error, JobId};

/// Appends what waits. That it cannot be read withholds nothing: it stays, and is told later.
pub fn append(call: &Call, said: &mut Said) {
    let covers = std::mem::take(&mut said.told.covers);
    let running = std::mem::take(&mut said.told.running);
    let Ok(Some(delivery)) = take(call, &covers, running) else {
        return;
    };
    let is_appended = said.append(delivery.events(), delivery.more()).is_ok();
    if is_appended && !delivery.is_empty() {
        said.told.notes.push(Box::new(move || delivery.told()));
    }
}

/// The events to tell.
fn take(
    call: &Call,
    covers: &[(JobId, Kind)],
    running: Vec<JobId>,
) -> Result<Option<Delivery>, Error> {
    // One reply does not say of a job that it runs and that it has ended.
    let inbox = call.inbox.clone().without_ends_of(running);
    let is_new = |event: &InboxEvent| {
        !covers
            .iter()
            .any(|(id, kind)| (id, kind) == (&event.job, &event.kind))
    };
    let selection = Selection {
        skip_shown: true,
        limit: MAX_EVENTS_BESIDE,
    };
    // What the reply itself tells need not be claimed: others may be told of it if it never arrives.
    if !covers.is_empty() {
        let peeked = inbox.peek(selection)?.confirm();
        if !peeked.events().iter().any(is_new) {
            return Ok(None);
        }
    }
    Ok(Some(inbox::take(&inbox, selection)?.only(is_new)))
}
