//! An output line by line.

use super::{Output, Piece};
use memchr::memchr;
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
