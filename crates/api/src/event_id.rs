//! The ids of events, which are used to ack them.

use crate::id::JobId;
use crate::incarnation::Incarnation;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of one event: `<job id>:<number in its journal>.<incarnation>`.
///
/// A later job with the same id has another incarnation, so a late ack never counts for it.
/// Events of jobs that the first release started have none: `<job id>:<number>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventId {
    /// The job or post whose event it is.
    pub source: JobId,
    /// The number of the event in its journal, from 1.
    pub seq: u64,
    /// Tells two jobs with the same id apart.
    pub incarnation: Option<Incarnation>,
}

/// A text that is no [`EventId`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an event id; one looks like 1pzrj72dak:7.k3f9x2")]
pub struct BadEventId(String);

impl EventId {
    /// Checks an event id that came from outside.
    pub fn parse(text: &str) -> Result<EventId, BadEventId> {
        text.rsplit_once(':')
            .and_then(|(source, rest)| {
                let (seq, incarnation) = match rest.split_once('.') {
                    Some((seq, incarnation)) => (seq, Some(Incarnation::parse(incarnation).ok()?)),
                    None => (rest, None),
                };
                Some(EventId {
                    source: JobId::parse(source).ok()?,
                    seq: seq.parse().ok()?,
                    incarnation,
                })
            })
            .ok_or_else(|| BadEventId(text.to_owned()))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.seq)?;
        match &self.incarnation {
            Some(incarnation) => write!(f, ".{incarnation}"),
            None => Ok(()),
        }
    }
}

impl From<EventId> for String {
    fn from(id: EventId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for EventId {
    type Error = BadEventId;
    fn try_from(text: String) -> Result<EventId, BadEventId> {
        EventId::parse(&text)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for EventId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_event_id_parses_to_the_same_id() {
        for text in ["1pzrj72dak:7.k3f9x2", "a.b:1.0", "1pzrj72dak:7"] {
            let id = EventId::parse(text).expect("an event id");
            assert_eq!(id.to_string(), text);
        }
        for bad in [
            "", "x", ":7", "x:", "x:y", "x:7.", "x:7.K", "x:7.a.b", "x:7:8", "x:-1",
        ] {
            assert!(EventId::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
