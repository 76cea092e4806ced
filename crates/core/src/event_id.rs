//! Names of events, for whoever acks them.

use crate::id::JobId;
use crate::incarnation::Incarnation;
use serde::{Serialize, Serializer};
use std::fmt;

/// Names one event for ever: `<job id>:<number in its journal>.<incarnation>`.
///
/// A later job of the same id has another incarnation, so an ack that comes late never counts for it.
/// Events of jobs that the first release started have none: `<job id>:<number>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    pub source: JobId,
    pub seq: u64,
    pub incarnation: Option<Incarnation>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an event id; one looks like 1pzrj72dak:7.k3f9x2 (`outlive inbox --peek`)")]
pub struct BadEventId(String);

impl EventId {
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

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed() {
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
