//! Events as the interface has them.

use outlive_core::notice::Kind;
use outlive_core::{JobId, Label};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// Names an event for ever: `<job id>:<number in its journal>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    pub source: JobId,
    pub seq: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not the id of an event; it looks like 1pzrj72dak:7")]
pub struct BadEventId(String);

impl EventId {
    pub fn parse(text: &str) -> Result<EventId, BadEventId> {
        text.rsplit_once(':')
            .and_then(|(source, seq)| {
                Some(EventId {
                    source: JobId::parse(source).ok()?,
                    seq: seq.parse().ok()?,
                })
            })
            .ok_or_else(|| BadEventId(text.to_owned()))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.seq)
    }
}

impl Serialize for EventId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

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
    pub data: Value,
    /// Ready for an agent to read, secrets left out.
    pub text: String,
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
