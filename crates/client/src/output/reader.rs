//! An output line by line.

use super::{Output, Piece};
use crate::{redact, view};
use memchr::memchr;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// A longer line is handed over in parts.
const LONGEST: usize = 1024 * 1024;

/// One line, or a part of a very long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    pub offset: u64,
    /// With its newline, if it has one.
    pub bytes: Vec<u8>,
}

/// How lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As they are.
    Raw,
    /// As text: see [`view::line`].
    Plain,
    /// As text, without what looks like a credential. A line of which nothing is left is left out.
    Redacted,
}

/// Reads lines in one of these ways; their numbers and offsets stay what they were. `before` is what came
/// before them, as text.
pub fn read_as<'a>(
    reading: Reading,
    before: &str,
    mut lines: impl Iterator<Item = io::Result<Line>> + 'a,
) -> Box<dyn Iterator<Item = io::Result<Line>> + 'a> {
    let plain = |line: Line| Line {
        bytes: view::line(&line.bytes).into_owned().into_bytes(),
        ..line
    };
    match reading {
        Reading::Raw => Box::new(lines),
        Reading::Plain => Box::new(lines.map(move |line| line.map(plain))),
        Reading::Redacted => {
            let mut redaction = redact::Lines::after(before);
            let mut shown = VecDeque::new();
            Box::new(std::iter::from_fn(move || {
                while shown.is_empty() {
                    let mut show = |(number, offset), text: &str| {
                        let bytes = text.as_bytes().to_vec();
                        shown.push_back(Ok(Line {
                            number,
                            offset,
                            bytes,
                        }));
                    };
                    match lines.next() {
                        Some(Ok(line)) => {
                            let text = view::line(&line.bytes);
                            redaction.push((line.number, line.offset), &text, &mut show);
                        }
                        Some(Err(error)) => shown.push_back(Err(error)),
                        None if redaction.holds_any() => redaction.release(&mut show),
                        None => return None,
                    }
                }
                shown.pop_front()
            }))
        }
    }
}

impl Output {
    /// The lines of a range, in order. What is missing ends a line.
    pub fn lines(
        &self,
        range: Range<u64>,
    ) -> io::Result<impl Iterator<Item = io::Result<Line>> + '_> {
        let mut number = 1 + self.newlines_before(range.start)?;
        let mut pieces = self.pieces(range);
        let mut rest: Vec<u8> = Vec::new();
        let mut offset = 0;
        let mut over = false;
        Ok(std::iter::from_fn(move || {
            loop {
                let end = memchr(b'\n', &rest).map(|place| place + 1);
                let end = end.or((over || rest.len() >= LONGEST).then_some(rest.len()));
                if let Some(end) = end.filter(|end| *end > 0) {
                    let bytes: Vec<u8> = rest.drain(..end).collect();
                    let line = Line {
                        number,
                        offset,
                        bytes,
                    };
                    offset += end as u64;
                    number += u64::from(line.bytes.ends_with(b"\n"));
                    return Some(Ok(line));
                }
                if over {
                    // What was missing is behind; then comes the next stretch, or nothing.
                    over = false;
                }
                match pieces.next() {
                    None if rest.is_empty() => return None,
                    None => over = true,
                    Some(Err(error)) => return Some(Err(error)),
                    Some(Ok(Piece::Bytes { at, bytes })) => {
                        if rest.is_empty() {
                            offset = at;
                        }
                        rest.extend(bytes);
                    }
                    Some(Ok(Piece::Missing(range))) => {
                        over = true;
                        match self.newlines_before(range.end) {
                            Ok(before) if rest.is_empty() => number = before + 1,
                            Ok(_) => {}
                            Err(error) => return Some(Err(error)),
                        }
                    }
                }
            }
        }))
    }
}
