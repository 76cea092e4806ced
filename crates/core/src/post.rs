//! Work that was done elsewhere and is told through the same inbox: a sub-agent, a batch of them.
//!
//! `posts/<id>/` holds `post.json`, written once and complete from the moment the directory has this
//! name, and the record of who has been told.

use crate::event::Moment;
use crate::event_id::EventId;
use crate::id::JobId;
use crate::incarnation::Incarnation;
use crate::label::Label;
use crate::notice::Kind;
use crate::process::BootId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The newest format this program writes.
pub const FORMAT: u32 = 1;

/// A finished piece of outside work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    pub format: u32,
    pub id: JobId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    pub session: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    pub kind: Kind,
    pub boot: BootId,
    pub at: Moment,
    /// All of it, so that it stands alone.
    pub data: Value,
}

impl Post {
    /// There is one event in a post.
    pub const SEQ: u64 = 1;

    /// The name of that event.
    pub fn event(&self) -> EventId {
        EventId {
            source: self.id.clone(),
            seq: Post::SEQ,
            incarnation: self.incarnation.clone(),
        }
    }
}
