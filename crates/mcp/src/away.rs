//! "While you were away": every reply ends with the events that the session has not been told yet.
//!
//! Like every consumer of an inbox, it claims events before the reply is made and acks them after the
//! reply is written (see `delivery`).

use crate::call::Call;
use crate::delivery::Note;
use crate::reply::ToolAnswer;
use outlive::defaults::MAX_EVENTS_BESIDE;
use outlive::inbox::{Delivery, Event, EventKind, Selection};
use outlive::verbs::inbox;
use outlive::{Error, JobId};

/// Appends the waiting events. If they cannot be read, the reply goes out without them; a later one
/// tells them.
pub fn append(call: &Call, said: &mut ToolAnswer) {
    let covers = std::mem::take(&mut said.told.covers);
    let running = std::mem::take(&mut said.told.running);
    let Ok(Some(delivery)) = take(call, &covers, running) else {
        return;
    };
    let is_appended = said.append(delivery.events(), delivery.more()).is_ok();
    if is_appended && !delivery.is_empty() {
        said.told.notes.push(Note::told(move || delivery.told()));
    }
}

/// The events to tell.
fn take(
    call: &Call,
    covers: &[(JobId, EventKind)],
    running: Vec<JobId>,
) -> Result<Option<Delivery>, Error> {
    // One reply must not say that a job runs and that it has ended.
    let inbox = call.inbox.clone().without_ends_of(running);
    let is_new = |event: &Event| {
        !covers
            .iter()
            .any(|(id, kind)| (id, kind) == (&event.job, &event.kind))
    };
    let selection = Selection {
        skip_shown: true,
        limit: Some(MAX_EVENTS_BESIDE),
    };
    // Do not claim what the reply itself tells: if it never arrives, others may still tell it.
    if !covers.is_empty() {
        let peeked = inbox.peek(selection)?.confirm();
        if !peeked.events().iter().any(is_new) {
            return Ok(None);
        }
    }
    Ok(Some(inbox::take(&inbox, selection)?.only(is_new)))
}
