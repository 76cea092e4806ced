//! The fields of an event that a doorbell reads. The rest is passed on unchanged.

use crate::error::NotRung;
use outlive::Outlive;
use outlive::inbox::{self, EventId};
use serde::Deserialize;
use serde_json::Value;

/// The largest event that is accepted.
pub const MAX_EVENT: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "event")]
    pub id: String,
    /// The text to show; secrets are already removed.
    pub text: String,
}

impl Event {
    pub fn parse(json: &[u8]) -> Result<Event, NotRung> {
        match json.len() as u64 {
            0..=MAX_EVENT => {}
            _ => return Err(NotRung::TooLarge),
        }
        serde_json::from_slice(json).map_err(NotRung::NoEvent)
    }
}

/// Completes the event of a job's end. The keeper that rings knows how the job ended, but it neither
/// reads the output nor redacts secrets. Any other event stays as it is.
pub fn in_full(outlive: &Outlive, json: Vec<u8>) -> Vec<u8> {
    filled(outlive, &json).unwrap_or(json)
}

fn filled(outlive: &Outlive, json: &[u8]) -> Option<Vec<u8>> {
    let mut event: Value = serde_json::from_slice(json).ok()?;
    let id = EventId::parse(event.get("event")?.as_str()?).ok()?;
    let (data, text) = inbox::end_of(outlive, &id)?;
    let fields = event.as_object_mut()?;
    fields.insert("data".to_owned(), data);
    fields.insert("text".to_owned(), Value::String(text));
    serde_json::to_vec(&event).ok()
}
