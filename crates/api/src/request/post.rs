//! `post`

use crate::event::EventKind;
use crate::id::JobId;
use crate::label::Label;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Finished work from elsewhere, to put into a session's inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewPost {
    /// Whose inbox.
    pub session: Label,
    /// The unit of work it belongs to.
    #[serde(default)]
    pub task: Option<Label>,
    /// The kind of the event.
    #[serde(default = "delegation")]
    pub kind: EventKind,
    /// Everything about the result, so that it is complete by itself.
    pub data: Value,
    /// An id chosen by the caller. A second post with the same id is treated as a repetition.
    #[serde(default)]
    pub id: Option<JobId>,
}

fn delegation() -> EventKind {
    EventKind::Delegation
}
