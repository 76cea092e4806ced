//! Frames: reading those of a client, and writing those of a server.

/// The longest message that is read. Input for a terminal is short, and a paste comes in pieces.
pub const MAX_MESSAGE: usize = 1024 * 1024;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Text(String),
    Binary(Vec<u8>),
}

/// Something that a client sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Message(Message),
    Ping(Vec<u8>),
    Close,
}

/// The connection has to end, with this code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed(pub u16);

impl Closed {
    pub const NORMAL: u16 = 1000;
    pub const UNSUPPORTED: u16 = 1003;
    const PROTOCOL: Closed = Closed(1002);
    const NO_TEXT: Closed = Closed(1007);
    const TOO_BIG: Closed = Closed(1009);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn of(number: u8) -> Option<Opcode> {
        Some(match number {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// A frame of a server, which is not masked.
pub fn encode(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 10);
    frame.push(0x80 | opcode as u8);
    match payload.len() {
        length @ 0..=125 => frame.push(length as u8),
        length @ 126..=0xffff => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    frame
}

/// Bytes of a client that are not read yet, and the beginning of a message in several frames.
#[derive(Debug, Default)]
pub struct Incoming {
    bytes: Vec<u8>,
    begun: Option<(Opcode, Vec<u8>)>,
}

/// The beginning of a frame.
struct Head {
    is_last: bool,
    opcode: Opcode,
    /// Where the mask stands.
    mask: usize,
    length: usize,
}

impl Incoming {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame that counts for a caller, if all of it is there.
    pub fn next(&mut self) -> Result<Option<Frame>, Closed> {
        loop {
            let Some(head) = self.head()? else {
                return Ok(None);
            };
            let start = head.mask + 4;
            let end = start + head.length;
            if self.bytes.len() < end {
                return Ok(None);
            }
            let mask: Vec<u8> = self.bytes[head.mask..start].to_vec();
            let masked = self.bytes[start..end].iter().zip(mask.iter().cycle());
            let payload: Vec<u8> = masked.map(|(byte, mask)| byte ^ mask).collect();
            self.bytes.drain(..end);
            if let Some(frame) = self.take(head.opcode, head.is_last, payload)? {
                return Ok(Some(frame));
            }
        }
    }

    /// Reads the head of a frame, if it is there.
    fn head(&self) -> Result<Option<Head>, Closed> {
        let [first, second, ..] = self.bytes[..] else {
            return Ok(None);
        };
        let opcode = Opcode::of(first & 0x0f).ok_or(Closed::PROTOCOL)?;
        let (is_last, is_masked) = (first & 0x80 != 0, second & 0x80 != 0);
        // No extension was agreed on, and a client must mask.
        if first & 0x70 != 0 || !is_masked || (opcode.is_control() && !is_last) {
            return Err(Closed::PROTOCOL);
        }
        let (length, mask) = match second & 0x7f {
            126 => match self.bytes.get(2..4) {
                Some(bytes) => (number(bytes), 4),
                None => return Ok(None),
            },
            127 => match self.bytes.get(2..10) {
                Some(bytes) => (number(bytes), 10),
                None => return Ok(None),
            },
            length => (u64::from(length), 2),
        };
        if opcode.is_control() && length > 125 {
            return Err(Closed::PROTOCOL);
        }
        let begun = self.begun.as_ref().map_or(0, |(_, bytes)| bytes.len());
        if length > (MAX_MESSAGE - begun) as u64 {
            return Err(Closed::TOO_BIG);
        }
        Ok(Some(Head {
            is_last,
            opcode,
            mask,
            length: length as usize,
        }))
    }

    fn take(
        &mut self,
        opcode: Opcode,
        is_last: bool,
        payload: Vec<u8>,
    ) -> Result<Option<Frame>, Closed> {
        match (opcode, self.begun.is_some()) {
            (Opcode::Ping, _) => return Ok(Some(Frame::Ping(payload))),
            (Opcode::Pong, _) => return Ok(None),
            (Opcode::Close, _) => return Ok(Some(Frame::Close)),
            (Opcode::Continuation, false) | (Opcode::Text | Opcode::Binary, true) => {
                return Err(Closed::PROTOCOL);
            }
            (Opcode::Continuation, true) => {}
            (Opcode::Text | Opcode::Binary, false) => self.begun = Some((opcode, Vec::new())),
        }
        let (_, begun) = self.begun.as_mut().ok_or(Closed::PROTOCOL)?;
        begun.extend(payload);
        if !is_last {
            return Ok(None);
        }
        let (opcode, bytes) = self.begun.take().ok_or(Closed::PROTOCOL)?;
        Ok(Some(Frame::Message(match opcode {
            Opcode::Text => Message::Text(String::from_utf8(bytes).map_err(|_| Closed::NO_TEXT)?),
            _ => Message::Binary(bytes),
        })))
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of a client.
    fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = encode(Opcode::Text, payload);
        let head = frame.len() - payload.len();
        frame[0] = first;
        frame[1] |= 0x80;
        let mask = [1, 2, 3, 4];
        let body: Vec<u8> = payload
            .iter()
            .zip(mask.iter().cycle())
            .map(|(a, b)| a ^ b)
            .collect();
        frame.truncate(head);
        frame.extend(mask);
        frame.extend(body);
        frame
    }

    fn text(text: &str) -> Frame {
        Frame::Message(Message::Text(text.to_owned()))
    }

    /// What comes of these bytes, however they are cut.
    fn read(bytes: &[u8]) -> Result<Vec<Frame>, Closed> {
        let whole = read_in(bytes, bytes.len().max(1));
        assert_eq!(read_in(bytes, 1), whole);
        whole
    }

    fn read_in(bytes: &[u8], size: usize) -> Result<Vec<Frame>, Closed> {
        let mut incoming = Incoming::default();
        let mut frames = Vec::new();
        for part in bytes.chunks(size) {
            incoming.push(part);
            while let Some(frame) = incoming.next()? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    #[test]
    fn messages_are_read_whole_and_in_several_frames() {
        let long = "é".repeat(40_000);
        for message in ["", "hello", &"x".repeat(126), &long] {
            assert_eq!(
                read(&masked(0x81, message.as_bytes())),
                Ok(vec![text(message)])
            );
        }
        let parts = [
            masked(0x01, b"one "),
            masked(0x89, b"ping"),
            masked(0x00, b"two "),
            masked(0x80, b"three"),
        ];
        let frames = vec![Frame::Ping(b"ping".to_vec()), text("one two three")];
        assert_eq!(read(&parts.concat()), Ok(frames));
        assert_eq!(read(&masked(0x88, &[3, 232])), Ok(vec![Frame::Close]));
        assert_eq!(read(&masked(0x8a, b"pong")), Ok(vec![]));
    }

    #[test]
    fn whatever_breaks_the_rules_ends_the_connection() {
        let mut unmasked = masked(0x81, b"x");
        unmasked[1] &= 0x7f;
        for (bytes, code) in [
            (unmasked, 1002),
            (masked(0xc1, b"x"), 1002),
            (masked(0x83, b"x"), 1002),
            (masked(0x80, b"x"), 1002),
            (masked(0x09, b"x"), 1002),
            (masked(0x89, &[0; 126]), 1002),
            ([masked(0x01, b"x"), masked(0x81, b"y")].concat(), 1002),
            (masked(0x81, b"\xff"), 1007),
            (vec![0x81, 0xff, 0, 0, 0, 0, 0, 16, 0, 1], 1009),
            (
                vec![0x81, 0xff, 255, 255, 255, 255, 255, 255, 255, 255],
                1009,
            ),
        ] {
            assert_eq!(
                read(&bytes),
                Err(Closed(code)),
                "{:?}",
                &bytes[..bytes.len().min(12)]
            );
        }
        let half = vec![b'x'; MAX_MESSAGE / 2 + 1];
        let both = [masked(0x01, &half), masked(0x80, &half)].concat();
        assert_eq!(
            read_in(&both, 4096),
            Err(Closed(1009)),
            "together they are too long"
        );
    }

    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        for (length, head) in [(125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            assert_eq!(
                encode(Opcode::Binary, &vec![0; length]).len(),
                length + head
            );
        }
    }
}
