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

/// Some lines in a row. All end with a newline, but for one that goes on in the next block, that
/// something missing follows, or that is the last of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// Of its first line.
    pub number: u64,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// The blocks of a range, in order. What is missing ends a line.
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
    /// Where output goes on after something missing, which has not been passed yet.
    resumes: Option<u64>,
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
            resumes: None,
        })
    }

    /// The next block; `None` behind the last.
    pub(super) fn next(&mut self) -> io::Result<Option<Block<'_>>> {
        self.pass();
        while !self.has_block() {
            if self.resumes.is_some() && self.filled == 0 {
                self.resume()?;
            } else if self.left.is_empty() {
                return Ok(None);
            } else {
                self.read()?;
            }
        }
        Ok(Some(Block {
            number: self.number,
            offset: self.offset,
            bytes: &self.buffer[..self.given],
        }))
    }

    /// The block that was handed over last is done with.
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
        let is_last = self.left.is_empty() || self.resumes.is_some();
        self.given = match memrchr(b'\n', there) {
            _ if self.begins_with_long_line() => self.sizes.line,
            Some(newline) => newline + 1,
            None if is_last => self.filled,
            None => 0,
        };
        self.given > 0
    }

    /// Only the first line can be that long: a read adds less.
    fn begins_with_long_line(&self) -> bool {
        let longest = self.sizes.line;
        self.filled >= longest && memchr(b'\n', &self.buffer[..longest]).is_none()
    }

    /// Adds what comes next.
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
            }
            Stretch::Missing(range) => {
                self.left.start = range.end;
                self.resumes = Some(range.end);
            }
        }
        Ok(())
    }

    /// Goes on behind what is missing.
    fn resume(&mut self) -> io::Result<()> {
        if let Some(offset) = self.resumes.take() {
            self.offset = offset;
            self.number = 1 + self.output.newlines_before(offset)?;
        }
        Ok(())
    }
}
