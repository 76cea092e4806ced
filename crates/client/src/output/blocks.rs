//! Reads an output in blocks of whole lines, into a buffer that is reused.

use super::{Output, Stretch};
use memchr::{memchr, memchr_iter, memrchr};
use std::io;
use std::ops::Range;

/// How much is read at once, and how long a line may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub read: usize,
    /// A longer line is returned in parts of this length.
    pub line: usize,
}

/// A block of this size stays in the processor's cache while it is searched.
pub(super) const SIZES: Sizes = Sizes {
    read: 128 * 1024,
    line: 1024 * 1024,
};

/// Consecutive lines. All end with a newline, except a line that continues in the next block or is the
/// last of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// The number of the first line.
    pub number: u64,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// The blocks of a range, in order. Lines next to a missing range may be incomplete, so they are left
/// out: half a line must not count as a whole one.
pub(super) struct Blocks<'a> {
    output: &'a Output,
    sizes: Sizes,
    /// The range that is still to be read.
    left: Range<u64>,
    /// `filled` bytes were read. The first `given` of them are the block that was returned last.
    buffer: Vec<u8>,
    given: usize,
    filled: usize,
    /// The line number of the first byte in the buffer.
    number: u64,
    offset: u64,
    /// Whether the next byte may be inside a line whose beginning is missing.
    is_cut: bool,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(output: &'a Output, range: Range<u64>, sizes: Sizes) -> io::Result<Self> {
        Ok(Blocks {
            output,
            sizes,
            number: 1 + output.newlines_before(range.start)?,
            offset: range.start,
            left: range.start..range.end.min(output.size),
            buffer: vec![0; sizes.read],
            given: 0,
            filled: 0,
            is_cut: output.gap_before(range.start).is_some(),
        })
    }

    /// The next block; `None` after the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<Block<'_>>> {
        self.pass();
        while !self.has_block() {
            if self.left.is_empty() {
                return Ok(None);
            }
            self.read()?;
        }
        Ok(Some(Block {
            number: self.number,
            offset: self.offset,
            bytes: &self.buffer[..self.given],
        }))
    }

    /// Moves past the first `given` bytes.
    fn pass(&mut self) {
        let passed = &self.buffer[..self.given];
        self.number += memchr_iter(b'\n', passed).count() as u64;
        self.offset += self.given as u64;
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
    }

    /// Decides how many bytes can be returned.
    fn has_block(&mut self) -> bool {
        let there = &self.buffer[..self.filled];
        self.given = match memrchr(b'\n', there) {
            _ if self.begins_with_long_line() => self.sizes.line,
            Some(newline) => newline + 1,
            None if self.left.is_empty() => self.filled,
            None => 0,
        };
        self.given > 0
    }

    /// Only the first line can be that long, because a read adds less.
    fn begins_with_long_line(&self) -> bool {
        let longest = self.sizes.line;
        self.filled >= longest && memchr(b'\n', &self.buffer[..longest]).is_none()
    }

    /// Reads more. The buffer contains no newline now: the bytes before one would have been returned.
    fn read(&mut self) -> io::Result<()> {
        self.buffer.resize(self.filled + self.sizes.read, 0);
        let Range { start, end } = self.left;
        let there = &mut self.buffer[self.filled..];
        self.left.start = end;
        match self.output.stretch(start, end, there)? {
            // Another process truncated the file: nothing more to return.
            Stretch::Read(0) => {}
            Stretch::Read(count) => {
                self.filled += count;
                self.left.start = start + count as u64;
                if self.is_cut {
                    self.skip_line();
                }
            }
            Stretch::Missing(range) => {
                self.left.start = range.end;
                self.offset = range.end;
                self.number = 1 + self.output.newlines_before(range.end)?;
                self.filled = 0;
                self.is_cut = true;
            }
        }
        Ok(())
    }

    /// Skips the rest of a line whose beginning is missing.
    fn skip_line(&mut self) {
        let newline = memchr(b'\n', &self.buffer[..self.filled]);
        self.is_cut = newline.is_none();
        self.given = newline.map_or(self.filled, |newline| newline + 1);
        self.pass();
    }
}
