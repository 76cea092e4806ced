//! Frames: how a courier and a far end talk over one byte stream, the **wire**.
//!
//! ```text
//!  <stream> <kind> <length>\n<payload>\n
//! ```
//! A frame begins and ends with text, because some carriers pass on whole lines only. Streams are numbered by the
//! courier, which opens them. Each stream carries one thing (see [`far`](crate::far)); `open` says what.
//!
//! | kind | payload | meaning |
//! |---|---|---|
//! | `open` | JSON | the courier begins this stream |
//! | `data` | bytes | a part of the stream |
//! | `room` | decimal | the receiver took this many bytes of `data`, so that many more may be sent |
//! | `shut` | empty | the sender sends no more data on this stream |
//! | `end` | empty or JSON | the stream is over for both sides; JSON says why |
//! | `ping`, `pong` | empty | a sign of life; the stream is 0 |
//!
//! A wire that is carried by single calls is a **tunnel**. To its near end the courier also sends `open` and `shut` on
//! stream 0: whether somebody here waits for news now. They go no further.
//!
//! Everything here is pure. A frame that cannot be parsed ends the wire: what follows it cannot be trusted.

use std::fmt;

/// The most payload of one frame. A longer one is refused before memory is taken for it.
pub const MAX_PAYLOAD: usize = 64 * 1024;

/// How much `data` of one stream may be on its way before the receiver gives `room`.
pub const WINDOW: usize = 256 * 1024;

/// The longest header: a stream number of 20 digits, the longest kind, a length of 5 digits.
const MAX_HEADER: usize = 20 + 1 + 4 + 1 + 5;

/// What a frame does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Open,
    Data,
    Room,
    Shut,
    End,
    Ping,
    Pong,
}

impl Kind {
    pub const ALL: [Kind; 7] = [
        Kind::Open,
        Kind::Data,
        Kind::Room,
        Kind::Shut,
        Kind::End,
        Kind::Ping,
        Kind::Pong,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Open => "open",
            Kind::Data => "data",
            Kind::Room => "room",
            Kind::Shut => "shut",
            Kind::End => "end",
            Kind::Ping => "ping",
            Kind::Pong => "pong",
        }
    }

    fn parse(text: &[u8]) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.as_str().as_bytes() == text)
    }
}

/// One frame.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    pub stream: u64,
    pub kind: Kind,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn new(stream: u64, kind: Kind, payload: impl Into<Vec<u8>>) -> Frame {
        Frame {
            stream,
            kind,
            payload: payload.into(),
        }
    }

    /// The bytes of this frame. The payload must not be longer than [`MAX_PAYLOAD`]; [`split`] cuts data.
    pub fn encode(&self) -> Vec<u8> {
        debug_assert!(self.payload.len() <= MAX_PAYLOAD, "the payload is too long");
        let header = format!(
            "{} {} {}\n",
            self.stream,
            self.kind.as_str(),
            self.payload.len()
        );
        let mut bytes = header.into_bytes();
        bytes.extend_from_slice(&self.payload);
        bytes.push(b'\n');
        bytes
    }
}

/// Data may be a secret, so it is not shown.
impl fmt::Debug for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.payload.len();
        write!(out, "{} {} {length}", self.stream, self.kind.as_str())
    }
}

/// Cuts data into payloads of frames.
pub fn split(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.chunks(MAX_PAYLOAD)
}

/// Why a wire cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("a frame with a header that cannot be read")]
    BadHeader,
    #[error("a frame of {0} bytes, more than the {MAX_PAYLOAD} that are allowed")]
    TooLong(usize),
    #[error("a frame without its end")]
    NoEnd,
}

/// Takes bytes as they come and returns whole frames.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Where the bytes begin that no frame has been made of.
    from: usize,
}

impl Decoder {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        // Move what is left to the front only now and then, so that many small frames cost little.
        if self.from > MAX_PAYLOAD {
            self.bytes.drain(..self.from);
            self.from = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, if it has come. After an error, the wire must be closed.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, WireError> {
        let bytes = &self.bytes[self.from..];
        let Some(end) = bytes
            .iter()
            .take(MAX_HEADER + 1)
            .position(|byte| *byte == b'\n')
        else {
            return match bytes.len() > MAX_HEADER {
                true => Err(WireError::BadHeader),
                false => Ok(None),
            };
        };
        let (stream, kind, length) = header(&bytes[..end]).ok_or(WireError::BadHeader)?;
        if length > MAX_PAYLOAD {
            return Err(WireError::TooLong(length));
        }
        let payload = end + 1..end + 1 + length;
        match bytes.get(payload.end) {
            None => Ok(None),
            Some(b'\n') => {
                let frame = Frame::new(stream, kind, &bytes[payload.clone()]);
                self.from += payload.end + 1;
                if self.from == self.bytes.len() {
                    self.bytes.clear();
                    self.from = 0;
                }
                Ok(Some(frame))
            }
            Some(_) => Err(WireError::NoEnd),
        }
    }

    /// Whether it holds the beginning of a frame.
    pub fn is_within_frame(&self) -> bool {
        self.from < self.bytes.len()
    }
}

fn header(line: &[u8]) -> Option<(u64, Kind, usize)> {
    let mut words = line.split(|byte| *byte == b' ');
    let (stream, kind, length) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    Some((
        number(stream)?,
        Kind::parse(kind)?,
        number(length)? as usize,
    ))
}

/// A decimal number without sign or leading zeros, so that each frame has one spelling.
fn number(digits: &[u8]) -> Option<u64> {
    let is_canonical = digits == b"0" || digits.first().is_some_and(|first| *first != b'0');
    if !is_canonical || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// How much may be sent on one stream now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room(usize);

impl Default for Room {
    fn default() -> Room {
        Room(WINDOW)
    }
}

impl Room {
    /// How many bytes may be sent now.
    pub fn left(self) -> usize {
        self.0
    }

    /// Notes that bytes were sent. The caller sends at most [`left`](Room::left).
    pub fn use_up(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// The receiver took bytes. A receiver that gives more than it was sent is not believed.
    pub fn give(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes).min(WINDOW);
    }
}

/// The bytes that a `room` frame gives.
pub fn parse_room(payload: &[u8]) -> Option<usize> {
    number(payload).map(|bytes| bytes as usize)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame> {
        vec![
            Frame::new(1, Kind::Open, br#"{"call":"doctor"}"#.as_slice()),
            Frame::new(1, Kind::Data, b"1 data 3\nabc\n".as_slice()),
            Frame::new(u64::MAX, Kind::Data, vec![b'\n'; MAX_PAYLOAD]),
            Frame::new(7, Kind::Room, b"65536".as_slice()),
            Frame::new(7, Kind::Shut, []),
            Frame::new(7, Kind::End, []),
            Frame::new(0, Kind::Ping, []),
        ]
    }

    #[test]
    fn frames_are_read_however_the_bytes_are_cut() {
        let bytes: Vec<u8> = frames().iter().flat_map(Frame::encode).collect();
        for size in [1, 2, 3, 7, 4096, bytes.len()] {
            let mut decoder = Decoder::default();
            let mut read = Vec::new();
            for piece in bytes.chunks(size) {
                decoder.push(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    read.push(frame);
                }
            }
            assert_eq!(read, frames(), "in pieces of {size}");
            assert!(!decoder.is_within_frame());
        }
    }

    #[test]
    fn a_wrong_frame_ends_the_wire() {
        let cases: [(&[u8], WireError); 9] = [
            (b"Welcome to gpu1\n", WireError::BadHeader),
            (b"1 data\n", WireError::BadHeader),
            (b"1 data 1 1\n", WireError::BadHeader),
            (b"01 data 1\na\n", WireError::BadHeader),
            (b"+1 data 1\na\n", WireError::BadHeader),
            (b"1 date 1\na\n", WireError::BadHeader),
            (b"1 data 99999\n", WireError::TooLong(99_999)),
            (b"1 data 1\nab", WireError::NoEnd),
            (&[b'1'; 64], WireError::BadHeader),
        ];
        for (bytes, expected) in cases {
            let mut decoder = Decoder::default();
            decoder.push(bytes);
            assert_eq!(decoder.next_frame().unwrap_err(), expected);
        }
    }

    #[test]
    fn an_incomplete_frame_is_no_error() {
        let whole = Frame::new(3, Kind::Data, b"abc".as_slice()).encode();
        for cut in 0..whole.len() {
            let mut decoder = Decoder::default();
            decoder.push(&whole[..cut]);
            assert_eq!(decoder.next_frame(), Ok(None), "after {cut} bytes");
        }
    }

    #[test]
    fn room_never_exceeds_the_window() {
        let mut room = Room::default();
        room.use_up(1000);
        room.give(usize::MAX);
        assert_eq!(room.left(), WINDOW);
        room.use_up(WINDOW);
        assert_eq!(room.left(), 0);
    }
}
