//! Reads an output line by line.

use super::Output;
use super::blocks::{Block, Blocks, SIZES};
use crate::{redact, view};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;

/// One line, or a part of a very long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// Where it begins in the output, in bytes.
    pub offset: u64,
    /// The bytes with the newline, if there is one.
    pub bytes: Vec<u8>,
}

/// How lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The bytes, unchanged.
    Raw,
    /// As text, see [`view::line`]. A line of which nothing is left, not even a newline, is left out.
    Plain,
}

/// Converts lines in one of these ways. Numbers and offsets stay the same.
pub fn read_as<'a>(
    reading: Reading,
    lines: impl Iterator<Item = io::Result<Line>> + 'a,
) -> Box<dyn Iterator<Item = io::Result<Line>> + 'a> {
    let plain = |line: Line| Line {
        bytes: view::line(&line.bytes).into_owned().into_bytes(),
        ..line
    };
    match reading {
        Reading::Raw => Box::new(lines),
        Reading::Plain => Box::new(lines.map(move |line| line.map(plain)).filter(is_left)),
    }
}

/// Reads lines as text without what looks like a credential. A line of which nothing is left is left out.
/// `before` is what came before them, as text.
pub fn read_redacted<'a>(
    before: &str,
    mut lines: impl Iterator<Item = io::Result<Line>> + 'a,
) -> Box<dyn Iterator<Item = io::Result<Line>> + 'a> {
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

fn is_left(line: &io::Result<Line>) -> bool {
    !matches!(line, Ok(line) if line.bytes.is_empty())
}

impl Output {
    /// The lines of a range, in order, without lines that may lack a part because of a missing range.
    pub fn lines(
        &self,
        range: Range<u64>,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<Line>> + '_>> {
        if let Some(stream) = self.only() {
            return Ok(Box::new(self.lines_of(stream, range)?));
        }
        let mut blocks = Blocks::new(self, range, SIZES)?;
        let mut lines = VecDeque::new();
        Ok(Box::new(std::iter::from_fn(move || {
            if lines.is_empty() {
                match blocks.next() {
                    Ok(block) => lines.extend(block.into_iter().flat_map(lines_of)),
                    Err(error) => return Some(Err(error)),
                }
            }
            lines.pop_front().map(Ok)
        })))
    }
}

fn lines_of(block: Block<'_>) -> impl Iterator<Item = Line> {
    let Block {
        mut number,
        mut offset,
        bytes,
    } = block;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |bytes| {
            let line = Line {
                number,
                offset,
                bytes: bytes.to_vec(),
            };
            number += 1;
            offset += bytes.len() as u64;
            line
        })
}
