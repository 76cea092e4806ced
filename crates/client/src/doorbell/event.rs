//! What of an event a doorbell reads. The rest it passes on as it is.

use super::MAX_EVENT;
use super::error::NotRung;
use serde::Deserialize;

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
