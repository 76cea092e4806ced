//! How much of a subscription is under way.

use super::message::Part;
use crate::websocket::{Gone, Message, Sender};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

/// What is under way if the page does not say what it wants.
const USUAL: u64 = 256 * 1024;
const MAX: u64 = 1024 * 1024;

/// The parts of one subscription, on their way.
pub struct Flow {
    sub: u32,
    window: u64,
    sender: Sender,
    sent: u64,
    taken: watch::Receiver<u64>,
}

impl Flow {
    pub fn new(sub: u32, window: Option<u64>, sender: Sender, taken: watch::Receiver<u64>) -> Flow {
        Flow {
            sub,
            window: window.unwrap_or(USUAL).clamp(1, MAX),
            sender,
            sent: 0,
            taken,
        }
    }

    /// Sends the next part only when the page has taken the one before.
    #[must_use]
    pub fn one_by_one(mut self) -> Flow {
        self.window = 1;
        self
    }

    /// Waits until more may be sent. Call it before reading what is to be sent.
    pub async fn room(&mut self) -> Result<(), Gone> {
        let (sent, window) = (self.sent, self.window);
        let has_room = |taken: &u64| sent.saturating_sub(*taken) < window;
        self.taken
            .wait_for(has_room)
            .await
            .map(drop)
            .map_err(|_| Gone)
    }

    /// Sends a part.
    pub async fn send(&mut self, part: &impl Serialize) -> Result<(), Gone> {
        let text = serde_json::to_string(part).map_err(|_| Gone)?;
        self.sent += text.len() as u64;
        let part = RawValue::from_string(text).map_err(|_| Gone)?;
        let message = Part {
            sub: self.sub,
            sent: self.sent,
            part: &part,
        };
        let text = serde_json::to_string(&message).map_err(|_| Gone)?;
        self.sender.send(Message::Text(text)).await
    }

    /// Sends output that begins at this offset.
    pub async fn send_bytes(&mut self, at: u64, bytes: &[u8]) -> Result<(), Gone> {
        self.sent += bytes.len() as u64;
        let head = [&self.sub.to_be_bytes()[..], &at.to_be_bytes()].concat();
        self.sender
            .send(Message::Binary([&head, bytes].concat()))
            .await
    }
}
