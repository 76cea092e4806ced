//! Outside work, such as a sub-agent or a batch of them, that reports through the same inbox as jobs.
//!
//! `posts/<id>/` holds `post.json`, which is written once and is complete before the directory gets
//! this name, and the record of who was told.

use crate::event::Moment;
use crate::event_id::EventId;
use crate::id::JobId;
use crate::incarnation::Incarnation;
use crate::label::Label;
use crate::process::BootId;
use outlive_api::event::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The newest format this program writes.
pub const FORMAT: u32 = 1;

/// A piece of outside work that has finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    pub format: u32,
    pub id: JobId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
    pub session: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    pub kind: EventKind,
    pub boot: BootId,
    pub at: Moment,
    /// Everything about the result; a reader needs no other file.
    pub data: Value,
}

impl Post {
    /// A post has exactly one event.
    pub const SEQ: u64 = 1;

    /// The id of that event.
    pub fn event(&self) -> EventId {
        EventId {
            source: self.id.clone(),
            seq: Post::SEQ,
            incarnation: self.incarnation.clone(),
        }
    }
}
