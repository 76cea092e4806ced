//! An output in blocks of whole lines, read into memory that is used again.

use super::{Output, Stretch};
use memchr::{memchr, memchr_iter, memrchr};
use std::io;
use std::ops::Range;

/// How much is read at once, and how long a line may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub read: usize,
    /// A longer line is handed over in parts of this length.
    pub line: usize,
}

/// A block stays in the processor's nearer caches while it is searched.
pub(super) const SIZES: Sizes = Sizes {
    read: 128 * 1024,
    line: 1024 * 1024,
};

/// Some lines in a row. All end with a newline, but for one that goes on in the next block or that is the
/// last of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// Of its first line.
    pub number: u64,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// The blocks of a range, in order. The lines before and after what is missing are left out where a part
/// of them may be missing too: half a line must not be taken for a whole one.
pub(super) struct Blocks<'a> {
    output: &'a Output,
    sizes: Sizes,
    /// What is still to be read.
    left: Range<u64>,
    /// `filled` bytes were read, of which the first `given` are the block that was handed over last.
    buffer: Vec<u8>,
    given: usize,
    filled: usize,
    /// Of the first byte in the buffer.
    number: u64,
    offset: u64,
    /// Whether the next byte may be in the middle of a line whose beginning is missing.
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

    /// The next block; `None` behind the last.
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

    /// Goes on behind the first `given` bytes.
    fn pass(&mut self) {
        let passed = &self.buffer[..self.given];
        self.number += memchr_iter(b'\n', passed).count() as u64;
        self.offset += self.given as u64;
        self.buffer.copy_within(self.given..self.filled, 0);
        self.filled -= self.given;
        self.given = 0;
    }

    /// Decides how much can be handed over.
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

    /// Only the first line can be that long: a read adds less.
    fn begins_with_long_line(&self) -> bool {
        let longest = self.sizes.line;
        self.filled >= longest && memchr(b'\n', &self.buffer[..longest]).is_none()
    }

    /// Adds what comes next. There is no newline in the buffer: it would have been handed over.
    fn read(&mut self) -> io::Result<()> {
        self.buffer.resize(self.filled + self.sizes.read, 0);
        let Range { start, end } = self.left;
        let there = &mut self.buffer[self.filled..];
        self.left.start = end;
        match self.output.stretch(start, end, there)? {
            // Cut off behind our back: there is no more to be had.
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

    /// Passes what is there of a line that is cut.
    fn skip_line(&mut self) {
        let newline = memchr(b'\n', &self.buffer[..self.filled]);
        self.is_cut = newline.is_none();
        self.given = newline.map_or(self.filled, |newline| newline + 1);
        self.pass();
    }
}
