//! "While you were away": what the session has not been told yet is appended to whatever it asks.
//!
//! Events are claimed before the reply is made and acked once it is out (`delivery`), as with every
//! other consumer of an inbox.

use crate::call::Call;
use crate::reply::Said;
use outlive::inbox::{Finish, InboxEvent, Kind, Shown, Taken};
use outlive::verbs::inbox::{self, How, Take};
use outlive::{Error, JobId};

/// At most so many at once: each may show two thousand characters of output.
const MOST: usize = 8;

/// Appends what waits. That it cannot be read withholds nothing: it stays, and is told later.
pub fn append(call: &Call, said: &mut Said) {
    let covers = std::mem::take(&mut said.told.covers);
    let running = std::mem::take(&mut said.told.running);
    let Ok(Some((taken, more))) = take(call, &covers, running) else {
        return;
    };
    if said.append(&taken.events, more).is_ok() && !taken.events.is_empty() {
        said.told.notes.push(finish(call, taken, Finish::Told));
    }
}

/// What is noted of these once they are out.
pub fn finish(call: &Call, taken: Taken, finish: Finish) -> crate::delivery::Note {
    let inbox = call.inbox.clone();
    Box::new(move |_| inbox::finish(&inbox, &taken, finish))
}

/// The events to tell, and how many are left for later.
fn take(
    call: &Call,
    covers: &[(JobId, Kind)],
    running: Vec<JobId>,
) -> Result<Option<(Taken, usize)>, Error> {
    // One reply does not say of a job that it runs and that it has ended.
    let inbox = call.inbox.clone().without_ends_of(running);
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
    let taken = inbox::take(&inbox, how(Take::Claim))?;
    let more = taken.more;
    Ok(Some((taken.only(is_new), more)))
}
