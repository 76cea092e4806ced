//! Serve an agent's hook: hand it the news of its session, once.

use crate::hook::{Answer, Call, MAX_EVENTS, NotServed, Occasion, news, note, session_key};
use outlive::inbox::{Finish, Inbox, Shown, Taken};
use outlive::verbs::inbox::{self, How, Take, Waiter};
use outlive::{Error, Outlive};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Delivery takes moments, so whoever was killed at it need not hold the news back for longer.
const CLAIM: Duration = Duration::from_secs(30);

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
    let inbox = Inbox::open(outlive, call.session.clone())?.claiming_for_at_most(CLAIM);
    if call.is_deaf || (call.occasion == Occasion::Stop && call.may_not_block) {
        return Ok(());
    }
    let taken = match call.occasion {
        Occasion::Wait => wait(&inbox, reader)?,
        // What it has just looked at itself need not be repeated at once.
        Occasion::PostToolUse => inbox::take(&inbox, how(Shown::LeaveOut))?,
        _ => inbox::take(&inbox, how(Shown::Tell))?,
    };
    for (id, why) in taken.unreadable.iter().chain(&taken.untold) {
        note(outlive, "inbox", &format!("{id} {why}"));
    }
    let mut parts = Vec::new();
    if call.occasion == Occasion::SessionStart && call.must_know_key {
        parts.push(session_key(&call.session));
    }
    if !taken.events.is_empty() {
        parts.push(text(&inbox, &taken));
    }
    if parts.is_empty() {
        return Ok(());
    }
    deliver(&Answer::to(call, &parts.join("\n\n"))).map_err(NotServed::NotWritten)?;
    inbox::finish(&inbox, &taken, Finish::Told)?;
    Ok(())
}

/// The events in one text, with how many are left. Nothing is looked up here: the events were confirmed, and are
/// to go out at once.
pub fn text(inbox: &Inbox, taken: &Taken) -> String {
    let posts = inbox.outlive().home().posts();
    news(&taken.events, taken.more, &posts)
}

fn how(shown: Shown) -> How {
    How {
        take: Take::Claim,
        shown,
        most: MAX_EVENTS,
    }
}

/// What comes while something runs that it could come from.
fn wait(inbox: &Inbox, reader: BorrowedFd<'_>) -> Result<Taken, Error> {
    let how = how(Shown::Tell);
    let mut waiter = Waiter::new(inbox)?.for_receiver(reader);
    let directory = inbox.outlive().home().inbox(inbox.session());
    let directory = File::open(&directory).map_err(|source| Error::Io {
        what: "cannot open",
        path: directory,
        source,
    })?;
    // Another call of this session waits already; who comes for the news makes no difference.
    if directory.try_lock().is_err() {
        return Ok(Taken::default());
    }
    loop {
        let taken = inbox::take(inbox, how)?;
        if !taken.events.is_empty() || taken.nothing_can_come() {
            return Ok(taken);
        }
        waiter.sleep_until_news(&taken, None)?;
        if waiter.receiver_is_gone() {
            return Ok(Taken::default());
        }
    }
}
