//! One call over a wire, with its answer.

use super::wire::{End, ROOM_STEP, Sink, Wire};
use crate::clock;
use crate::places::Unreached;
use outlive_core::BootTime;
use outlive_core::far::{Answer, Call, MAX_CALL, Opening};
use outlive_core::wire::{MAX_PAYLOAD, Room};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A call that was sent.
pub struct Asked(Arc<Letterbox>);

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Answer(Answer),
    /// The wire was lost, and the call may have been carried out.
    Lost(Unreached),
    /// It was answered in words that cannot be read, so the call may have been carried out.
    Unreadable(Unreached),
}

/// Where the answer arrives.
#[derive(Default)]
struct Letterbox {
    state: Mutex<Arrived>,
    changed: Condvar,
}

#[derive(Default)]
struct Arrived {
    bytes: Vec<u8>,
    /// Taken since room was given.
    taken: usize,
    room: Room,
    end: Option<End>,
}

/// Sends a call. Fails only if nothing was sent.
pub fn send(wire: &Wire, call: &Call) -> Result<Asked, Unreached> {
    let text = serde_json::to_vec(call).map_err(|error| not_sent(&error.to_string()))?;
    if text.len() > MAX_CALL {
        return Err(not_sent("it is too long to be sent"));
    }
    let arrived = Arc::new(Letterbox::default());
    let opening = Opening::Call(Box::new(call.clone()));
    // The opening has a few bytes around the call.
    if text.len() + 64 <= MAX_PAYLOAD {
        wire.open(&opening, arrived.clone())?;
        return Ok(Asked(arrived));
    }
    let stream = wire.open(&Opening::LongCall, arrived.clone())?;
    let mut rest = text.as_slice();
    while !rest.is_empty() {
        let Some(room) = arrived.wait_for_room(rest.len()) else {
            break;
        };
        wire.send(stream, &rest[..room]);
        rest = &rest[room..];
    }
    wire.shut(stream);
    Ok(Asked(arrived))
}

fn not_sent(why: &str) -> Unreached {
    Unreached::NotUnderstood(why.to_owned())
}

impl Asked {
    /// Waits for the answer. `None` if it has not come by then.
    pub fn wait(&self, by: Option<BootTime>) -> Option<Said> {
        let mut state = self.0.lock();
        loop {
            if let Some(end) = state.end.take() {
                let said = said(&state.bytes, &end);
                state.end = Some(end);
                return Some(said);
            }
            state = match by {
                None => self
                    .0
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(by) => {
                    let left = by.since(clock::boot());
                    if left.is_zero() {
                        return None;
                    }
                    let waited = self.0.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

fn said(bytes: &[u8], end: &End) -> Said {
    match end {
        End::Lost(why) => Said::Lost(why.clone()),
        End::Refused(failure) => Said::Answer(Answer::Failed(failure.clone())),
        End::Well => match serde_json::from_slice(bytes) {
            Ok(answer) => Said::Answer(Answer::quoted(answer)),
            Err(error) => Said::Unreadable(Unreached::NotUnderstood(format!(
                "its answer cannot be read: {error}"
            ))),
        },
    }
}

impl Letterbox {
    /// Waits for room to send, and takes at most this much. `None` if the stream is over.
    fn wait_for_room(&self, most: usize) -> Option<usize> {
        let full = |state: &mut Arrived| state.room.left() == 0 && state.end.is_none();
        let waited = self.changed.wait_while(self.lock(), full);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.end.is_some() {
            return None;
        }
        let count = state.room.left().min(most);
        state.room.use_up(count);
        Some(count)
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Letterbox {
    fn data(&self, wire: &Wire, stream: u64, bytes: &[u8]) -> Result<(), Unreached> {
        let mut state = self.lock();
        if state.bytes.len() + bytes.len() > MAX_CALL {
            return Err(not_sent("an answer is longer than any can be"));
        }
        state.bytes.extend_from_slice(bytes);
        state.taken += bytes.len();
        // Most answers fit the first room, and need no frame for more.
        if state.taken >= ROOM_STEP {
            wire.give_room(stream, std::mem::take(&mut state.taken));
        }
        Ok(())
    }

    fn room(&self, _: &Wire, bytes: usize) {
        self.lock().room.give(bytes);
        self.changed.notify_all();
    }

    fn end(&self, _: &Wire, end: End) {
        self.lock().end = Some(end);
        self.changed.notify_all();
    }
}
