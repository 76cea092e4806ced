//! A far end that lies: the test says what passes in place of a frame.

use super::frames::{Direction, Part};
use outlive_core::far::{FarFailure, FromJournals, Opening, StreamEnd};
use outlive_core::wire::{Frame, Kind, split};
use std::fmt;
use std::sync::Mutex;

/// Bytes for one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// To the courier.
    Here(Vec<u8>),
    /// To the far end.
    There(Vec<u8>),
}

impl Said {
    /// Frames for the courier.
    pub fn here(frames: impl IntoIterator<Item = Frame>) -> Said {
        Said::Here(
            frames
                .into_iter()
                .flat_map(|frame| frame.encode())
                .collect(),
        )
    }

    /// A frame for the far end.
    pub fn there(frame: &Frame) -> Said {
        Said::There(frame.encode())
    }

    /// The end of a stream, from the far end.
    pub fn end(stream: u64) -> Said {
        Said::here([Frame::new(stream, Kind::End, [])])
    }

    /// The refusal of a stream.
    pub fn refusal(stream: u64, code: &str, message: &str) -> Said {
        let error = FarFailure {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let payload = serde_json::to_vec(&StreamEnd { error }).unwrap();
        Said::here([Frame::new(stream, Kind::End, payload)])
    }

    /// Words on the stream of journals.
    pub fn of_journals(stream: u64, told: &[FromJournals]) -> Said {
        let mut lines = Vec::new();
        for one in told {
            lines.extend(serde_json::to_vec(one).unwrap());
            lines.push(b'\n');
        }
        Said::here(split(&lines).map(|piece| Frame::new(stream, Kind::Data, piece)))
    }
}

/// What the test says in place of a frame; `None` if the frame passes as it is.
type Liar = Box<dyn FnMut(Direction, &Frame) -> Option<Vec<Said>> + Send>;

/// The lies of a tap.
#[derive(Default)]
pub struct Lies(Mutex<Option<Liar>>);

impl Lies {
    pub fn set(&self, liar: Option<Liar>) {
        *self.0.lock().unwrap() = liar;
    }

    pub fn for_part(&self, direction: Direction, part: &Part) -> Option<Vec<Said>> {
        let Part::Frame(frame) = part else {
            return None;
        };
        let mut liar = self.0.lock().unwrap();
        liar.as_mut().and_then(|liar| liar(direction, frame))
    }
}

impl fmt::Debug for Lies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Lies")
    }
}

/// What a frame opens, if it opens a stream.
pub fn opening(frame: &Frame) -> Option<Opening> {
    (frame.kind == Kind::Open)
        .then(|| serde_json::from_slice(&frame.payload).ok())
        .flatten()
}
