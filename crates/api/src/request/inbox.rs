//! `inbox`

use crate::event_id::EventId;
use crate::id::JobId;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which events to take, and how long to wait for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Take {
    /// Which events, and how many at once.
    pub selection: Selection,
    /// Wait at most this long for an event; for ever if `None`.
    #[serde(rename = "timeout_ms", with = "crate::time::optional_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Millis>"))]
    pub timeout: Option<Duration>,
}

/// Which events to take, and how many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Selection {
    /// Leave out ends that the session has just seen. They stay in the inbox.
    pub skip_shown: bool,
    /// At most this many, the oldest first; all of them if `None`.
    pub limit: Option<usize>,
}

/// Which events to mark as told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Ack {
    /// These events.
    pub events: Vec<EventId>,
    /// Every event so far of these jobs and posts.
    pub jobs: Vec<JobId>,
    /// Every event that was delivered and not acknowledged.
    pub delivered: bool,
}
