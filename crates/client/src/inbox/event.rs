//! Events as the interface shows them.

use outlive_api::event::{DropReason, Event};
use outlive_core::Label;
pub use outlive_core::event_id::{BadEventId, EventId};

/// Adds to the text that the event is not told again.
pub(crate) fn for_the_last_time(mut event: Event, why: DropReason) -> Event {
    event.last = Some(why);
    event.text.push_str("\n(");
    event.text.push_str(&last_words(why));
    event.text.push(')');
    event
}

/// Why an event is not told again.
pub fn last_words(why: DropReason) -> String {
    let why = match why {
        DropReason::Attempts => "it was delivered several times and never acknowledged",
        DropReason::Age => "it was delivered long ago and never acknowledged",
        DropReason::Session => "its session was ended",
    };
    format!("this is told for the last time: {why}")
}

/// The command that acks these events, quoted for a shell.
pub fn ack_command(session: &Label, events: &[EventId]) -> String {
    let session = match session.as_str() {
        // Otherwise it would look like an option.
        key if key.starts_with('-') => quote(&format!("--session={key}")),
        key => format!("--session {}", quote(key)),
    };
    let events: Vec<String> = events.iter().map(EventId::to_string).collect();
    format!("outlive inbox {session} --ack {}", events.join(" "))
}

fn quote(word: &str) -> String {
    // A label contains no character that cannot be quoted.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}
