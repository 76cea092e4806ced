//! Events as the interface has them.

pub use outlive_core::event_id::{BadEventId, EventId};
use outlive_core::notice::Kind;
use outlive_core::told::DropReason;
use outlive_core::{JobId, Label};
use serde::Serialize;
use serde_json::Value;

/// An event as the interface shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InboxEvent {
    pub event: EventId,
    pub kind: Kind,
    pub job: JobId,
    /// Of a job of no session nobody is told through an inbox.
    pub session: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    pub at: String,
    /// 1 the first time it is delivered, then 2, 3, …
    pub attempt: u32,
    /// Why it is told for the last time, where it is: it was never acked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<DropReason>,
    pub data: Value,
    /// Ready for an agent to read, secrets left out.
    pub text: String,
}

impl InboxEvent {
    /// Says in its text that it is not told again.
    pub(crate) fn for_the_last_time(mut self, why: DropReason) -> InboxEvent {
        self.last = Some(why);
        self.text.push_str("\n(");
        self.text.push_str(&last_words(why));
        self.text.push(')');
        self
    }
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

/// The command that acks these, ready for a shell.
pub fn ack_command(session: &Label, events: &[EventId]) -> String {
    let session = match session.as_str() {
        // Else it would be taken for an option.
        key if key.starts_with('-') => quote(&format!("--session={key}")),
        key => format!("--session {}", quote(key)),
    };
    let events: Vec<String> = events.iter().map(EventId::to_string).collect();
    format!("outlive inbox {session} --ack {}", events.join(" "))
}

fn quote(word: &str) -> String {
    // No label has what cannot be quoted.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |quoted| quoted.into_owned())
}
