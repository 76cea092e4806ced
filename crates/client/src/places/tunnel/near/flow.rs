//! The bytes of the wire as this side has them: what is to be sent, and how far the other side has come.

use crate::places::Unreached;
use crate::places::tunnel::base64;
use crate::places::tunnel::traffic::{Passing, Traffic, Urgency};
use outlive_core::wire::Frame;
use std::collections::VecDeque;

/// The longest request, as text on a command line.
const MAX_REQUEST: usize = 64 * 1024;

/// More than the head of a request has.
const HEAD: usize = 4096;

/// So many bytes of the wire go with one call.
pub const MAX_SENT: usize = base64::fitting(MAX_REQUEST) - HEAD;

/// When so much is to be sent, the courier has to wait.
const MAX_WAITING: usize = 512 * 1024;

#[derive(Debug, Default)]
pub struct Flow {
    /// What is to be sent, or was sent and may not have arrived.
    waiting: VecDeque<u8>,
    /// The position of its first byte.
    base: u64,
    /// Up to here it must arrive soon.
    urgent_to: u64,
    /// Up to here, what the far end said is here.
    pub had: u64,
    /// More of it waits there.
    pub more: bool,
    pub traffic: Traffic,
    passing: Passing,
}

impl Flow {
    pub fn has_space(&self) -> bool {
        self.waiting.len() < MAX_WAITING
    }

    /// Adds a frame of the courier.
    pub fn add(&mut self, frame: &Frame) -> Urgency {
        self.waiting.extend(frame.encode());
        let urgency = self.traffic.note_sent(frame);
        if urgency == Urgency::Now {
            self.urgent_to = self.base + self.waiting.len() as u64;
        }
        urgency
    }

    /// Whether something must be sent that no call brings. The calls that are on their way bring what there is up to this
    /// position.
    pub fn must_send(&self, brought_to: u64) -> bool {
        let next_to = self.base + self.waiting.len().min(MAX_SENT) as u64;
        let is_much = self.waiting.len() >= MAX_SENT;
        next_to > brought_to && (is_much || self.is_urgent(brought_to))
    }

    /// Whether something behind this position must be sent.
    pub fn is_urgent(&self, position: u64) -> bool {
        self.urgent_to > position.max(self.base)
    }

    /// What the next call brings, and its position.
    pub fn next_bytes(&self) -> (u64, Vec<u8>) {
        let bytes = self.waiting.iter().take(MAX_SENT).copied();
        (self.base, bytes.collect())
    }

    /// Takes an answer: how far the far end has come, and what it said from a position on. Returns what is new of that.
    pub fn take(&mut self, taken: u64, at: u64, bytes: &[u8]) -> Result<Vec<u8>, Unreached> {
        let wrong = |what: &str| Unreached::NotUnderstood(format!("{what}; it is not our program"));
        let arrived = usize::try_from(taken.saturating_sub(self.base)).unwrap_or(usize::MAX);
        if arrived > self.waiting.len() {
            return Err(wrong("it took more than it was sent"));
        }
        self.waiting.drain(..arrived);
        self.base += arrived as u64;
        let Some(known) = self.had.checked_sub(at) else {
            return Err(wrong("it left out some of what it said"));
        };
        let new = usize::try_from(known)
            .ok()
            .and_then(|known| bytes.get(known..));
        let new = new.unwrap_or_default().to_vec();
        self.had += new.len() as u64;
        let traffic = &mut self.traffic;
        let looked = self.passing.look(&new, |frame| {
            traffic.note_received(frame);
        });
        looked.map_err(|error| Unreached::NotUnderstood(format!("it sent {error}")))?;
        Ok(new)
    }
}
