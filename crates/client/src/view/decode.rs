//! Turns bytes into text and the few cursor movements that a line knows.
//!
//! ```text
//!            ESC           [               final byte
//!   Text ─────────▶ Escape ───▶ Csi ───────────────────────▶ Text
//!    │ ▲               ├──────▶ String ── BEL, ST, newline ──▶ Text
//!    ▼ │               └──────▶ Intermediate ── final byte ──▶ Text
//!   Char
//! ```
//!
//! A byte that cannot continue a sequence ends it and is read as text. So is everything after a
//! sequence that is longer than [`LONGEST_SEQUENCE`]: a terminal would wait for its end for ever, but
//! losing output is worse.

use std::str;

/// Longer than the longest sequence in use: kitty's chunks of 4096 bytes with their keys.
pub(super) const LONGEST_SEQUENCE: usize = 8 * 1024;

/// The most bytes decoded in one step, so that a sequence among them is found cheaply.
const RUN: usize = 128;

const REPLACEMENT: &str = "\u{fffd}";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act<'a> {
    /// Characters that take one column each.
    Text(&'a str),
    LineEnd,
    Left(usize),
    Right(usize),
    /// A column number, counted from 0.
    ToColumn(usize),
    Erase(Part),
}

/// The part of a line that is erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    FromCursor,
    ToCursor,
    All,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    state: State,
    /// The length of the current sequence, without its introducer.
    swallowed: usize,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// The start of a character that may still turn out to be invalid.
    Char {
        bytes: [u8; 4],
        len: usize,
    },
    Escape,
    /// An escape sequence whose second byte announces a third.
    Intermediate,
    Csi(Csi),
    String,
}

/// The part of a control sequence that matters for a line.
#[derive(Clone, Copy, Debug, Default)]
struct Csi {
    number: Option<usize>,
    /// More than one number, or a private or intermediate byte: the sequence does not affect the line.
    other: bool,
}

impl Decoder {
    pub(super) fn push(&mut self, mut bytes: &[u8], act: &mut impl FnMut(Act<'_>)) {
        while let Some(byte) = bytes.first() {
            let used = match self.state {
                State::Text => self.text(bytes, act),
                State::Char { bytes, len } => self.char(bytes, len, *byte, act),
                _ if self.swallowed == LONGEST_SEQUENCE => self.give_up(),
                State::Escape => self.escape(*byte),
                State::Intermediate => self.intermediate(*byte),
                State::Csi(csi) => self.csi(csi, *byte, act),
                State::String => self.string(*byte),
            };
            bytes = &bytes[used..];
        }
    }

    pub(super) fn finish(self, act: &mut impl FnMut(Act<'_>)) {
        if matches!(self.state, State::Char { .. }) {
            act(Act::Text(REPLACEMENT));
        }
    }

    /// Returns how many bytes it consumed, like all functions below.
    fn text(&mut self, bytes: &[u8], act: &mut impl FnMut(Act<'_>)) -> usize {
        let run = plain_run(bytes);
        if run > 0 {
            let text = str::from_utf8(&bytes[..run]).expect("printable ASCII is UTF-8");
            act(Act::Text(text));
            return run;
        }
        match bytes[0] {
            b'\n' => act(Act::LineEnd),
            b'\r' => act(Act::ToColumn(0)),
            0x08 => act(Act::Left(1)),
            0x1b => self.begin(State::Escape),
            0x80.. => return self.characters(bytes, act),
            _ => {}
        }
        1
    }

    /// Decodes a run that begins with a non-ASCII byte.
    fn characters(&mut self, bytes: &[u8], act: &mut impl FnMut(Act<'_>)) -> usize {
        let run = &bytes[..bytes.len().min(RUN)];
        let run = &run[..run.iter().position(is_control).unwrap_or(run.len())];
        let mut used = 0;
        for chunk in run.utf8_chunks() {
            let (valid, invalid) = (chunk.valid(), chunk.invalid());
            // C1 controls may stand between them, encoded as characters.
            for text in valid.split(is_c1) {
                if !text.is_empty() {
                    act(Act::Text(text));
                }
            }
            used += valid.len() + invalid.len();
            // A C1 control in a single byte is not treated as a control: it is far more often text in
            // another encoding.
            if is_beginning(invalid) && used == run.len() {
                self.state = char_of(invalid);
            } else if !invalid.is_empty() {
                act(Act::Text(REPLACEMENT));
            }
        }
        used
    }

    fn char(
        &mut self,
        mut bytes: [u8; 4],
        len: usize,
        byte: u8,
        act: &mut impl FnMut(Act<'_>),
    ) -> usize {
        bytes[len] = byte;
        let so_far = &bytes[..=len];
        if is_beginning(so_far) {
            self.state = char_of(so_far);
            return 1;
        }
        self.state = State::Text;
        match str::from_utf8(so_far) {
            Ok(text) => {
                if !text.starts_with(is_c1) {
                    act(Act::Text(text));
                }
                1
            }
            Err(_) => {
                act(Act::Text(REPLACEMENT));
                0
            }
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.swallowed = 0;
    }

    fn go_on(&mut self, state: State) -> usize {
        self.state = state;
        self.swallowed += 1;
        1
    }

    /// The current byte and what follows are text.
    fn give_up(&mut self) -> usize {
        self.state = State::Text;
        0
    }

    fn escape(&mut self, byte: u8) -> usize {
        match byte {
            b'[' => self.go_on(State::Csi(Csi::default())),
            // `k` sets the title of a screen or tmux window.
            b']' | b'P' | b'X' | b'^' | b'_' | b'k' => self.go_on(State::String),
            _ => self.intermediate(byte),
        }
    }

    fn intermediate(&mut self, byte: u8) -> usize {
        match byte {
            0x20..=0x2f => self.go_on(State::Intermediate),
            0x30..=0x7e => self.go_on(State::Text),
            _ => self.give_up(),
        }
    }

    fn csi(&mut self, csi: Csi, byte: u8, act: &mut impl FnMut(Act<'_>)) -> usize {
        match byte {
            b'0'..=b'9' => {
                let digit = usize::from(byte - b'0');
                let number = csi.number.unwrap_or(0).saturating_mul(10);
                self.go_on(State::Csi(Csi {
                    number: Some(number.saturating_add(digit)),
                    ..csi
                }))
            }
            0x20..=0x3f => self.go_on(State::Csi(Csi { other: true, ..csi })),
            0x40..=0x7e => {
                if let Some(known) = csi.act(byte) {
                    act(known);
                }
                self.go_on(State::Text)
            }
            _ => self.give_up(),
        }
    }

    fn string(&mut self, byte: u8) -> usize {
        match byte {
            // Some of the controls that end a string are invisible when read as text. ESC begins the
            // terminator, or another sequence.
            b'\n' | 0x07 | 0x18 | 0x1a | 0x1b => self.give_up(),
            _ => self.go_on(State::String),
        }
    }
}

impl Csi {
    fn act(self, last: u8) -> Option<Act<'static>> {
        if self.other {
            return None;
        }
        let count = self.number.unwrap_or(1).max(1);
        match (last, self.number) {
            (b'C', _) => Some(Act::Right(count)),
            (b'D', _) => Some(Act::Left(count)),
            (b'G', _) => Some(Act::ToColumn(count - 1)),
            (b'K', None | Some(0)) => Some(Act::Erase(Part::FromCursor)),
            (b'K', Some(1)) => Some(Act::Erase(Part::ToCursor)),
            (b'K', Some(2)) => Some(Act::Erase(Part::All)),
            _ => None,
        }
    }
}

fn char_of(beginning: &[u8]) -> State {
    let mut bytes = [0; 4];
    bytes[..beginning.len()].copy_from_slice(beginning);
    State::Char {
        bytes,
        len: beginning.len(),
    }
}

/// Whether these bytes can be the start of a valid character.
fn is_beginning(bytes: &[u8]) -> bool {
    str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

fn is_c1(character: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&character)
}

fn is_control(byte: &u8) -> bool {
    *byte != b'\t' && (*byte < 0x20 || *byte == 0x7f)
}

/// How many bytes at the front are printable ASCII or tabs.
fn plain_run(bytes: &[u8]) -> usize {
    run_of(bytes, |byte| is_printable(byte) || byte == b'\t')
}

pub(super) fn is_printable(byte: u8) -> bool {
    byte.wrapping_sub(0x20) < 0x5f
}

/// How many bytes at the front satisfy `such`.
pub(super) fn run_of(bytes: &[u8], such: impl Fn(u8) -> bool) -> usize {
    const BLOCK: usize = 32;
    // Without an early exit inside the block, the compiler checks all its bytes at once.
    let blocks = bytes
        .chunks_exact(BLOCK)
        .take_while(|block| block.iter().fold(true, |all, byte| all & such(*byte)))
        .count();
    let rest = &bytes[blocks * BLOCK..];
    blocks * BLOCK
        + rest
            .iter()
            .position(|byte| !such(*byte))
            .unwrap_or(rest.len())
}
