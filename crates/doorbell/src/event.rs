//! What of an event a doorbell reads. The rest it passes on as it is.

use crate::error::NotRung;
use outlive::Outlive;
use outlive::inbox::{self, EventId};
use serde::Deserialize;
use serde_json::Value;

/// The largest event that is read.
pub const MAX_EVENT: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "event")]
    pub id: String,
    /// What to show; already without secrets.
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

/// The event of a job's end with all there is to say of it: a keeper, which rings, knows how the job ended
/// but neither reads its output nor leaves out secrets. What is no such event stays as it is.
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
