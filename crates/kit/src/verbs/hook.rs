//! Serve an agent's hook: hand it the news of its session, once.

use crate::hook::{Answer, Call, NotServed, Occasion, news, note, session_key};
use outlive::defaults::{HOOK_CLAIM, MAX_EVENTS_HOOK};
use outlive::inbox::{Delivery, Inbox, Selection};
use outlive::verbs::inbox::{self, Waiter};
use outlive::{Error, Outlive};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

/// Claims what is new, has it delivered, and acks it then. Without news nothing is delivered.
///
/// A call that waits does so while jobs of the session run, until there is news; at most one does for
/// a session, and none any more once nobody reads `reader`.
pub fn serve(
    outlive: &Outlive,
    call: &Call,
    reader: BorrowedFd<'_>,
    deliver: impl FnOnce(&Answer) -> io::Result<()>,
) -> Result<(), NotServed> {
    let inbox = Inbox::open(outlive, call.session.clone())?.claiming_for_at_most(HOOK_CLAIM);
    if call.is_deaf || (call.occasion == Occasion::Stop && call.may_not_block) {
        return Ok(());
    }
    let selection = Selection {
        // What it has just looked at itself need not be repeated at once.
        skip_shown: call.occasion == Occasion::PostToolUse,
        limit: Some(MAX_EVENTS_HOOK),
    };
    let delivery = match call.occasion {
        Occasion::Wait => wait(&inbox, selection, reader)?,
        _ => inbox::take(&inbox, selection)?,
    };
    for (id, why) in delivery.problems() {
        note(outlive, "inbox", &format!("{id} {why}"));
    }
    let mut parts = Vec::new();
    if call.occasion == Occasion::SessionStart && call.must_know_key {
        parts.push(session_key(&call.session));
    }
    if !delivery.is_empty() {
        parts.push(text(&delivery));
    }
    if parts.is_empty() {
        return Ok(());
    }
    deliver(&Answer::to(call, &parts.join("\n\n"))).map_err(NotServed::NotWritten)?;
    Ok(delivery.told()?)
}

/// The events in one text, with how many are left. Nothing is looked up here: the events were confirmed, and are
/// to go out at once.
pub fn text(delivery: &Delivery) -> String {
    let posts = delivery.inbox().outlive().home().posts();
    news(delivery.events(), delivery.more(), &posts)
}

/// What comes while something runs that it could come from.
fn wait(inbox: &Inbox, selection: Selection, reader: BorrowedFd<'_>) -> Result<Delivery, Error> {
    let mut waiter = Waiter::new(inbox)?.for_receiver(reader);
    let directory = inbox.outlive().home().inbox(inbox.session());
    let directory = File::open(&directory).map_err(|source| Error::Io {
        what: "cannot open",
        path: directory,
        source,
    })?;
    // Another call of this session waits already; who comes for the news makes no difference.
    if directory.try_lock().is_err() {
        return Ok(Delivery::nothing(inbox));
    }
    loop {
        let delivery = inbox::take(inbox, selection)?;
        if !delivery.is_empty() || delivery.nothing_can_come() {
            return Ok(delivery);
        }
        waiter.sleep_until_news(&delivery, None)?;
        if waiter.receiver_is_gone() {
            return Ok(Delivery::nothing(inbox));
        }
    }
}
