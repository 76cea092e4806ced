//! Finding lines: from the nearest mark of the index, by a scan of one spacing.

use super::{CHUNK, Output, Piece};
use memchr::{memchr_iter, memrchr_iter};
use std::io;
use std::ops::Range;

impl Output {
    /// How many newlines come before this offset. Between the marks of what is missing nobody knows;
    /// then it is what the next mark says, less what is between.
    pub fn newlines_before(&self, offset: u64) -> io::Result<u64> {
        let before = self.index().before_offset(offset);
        if !self.is_missing(before.offset..offset) {
            return Ok(before.newlines + self.count_newlines(before.offset..offset)?);
        }
        match self.index().after_offset(offset) {
            Some(after) => Ok(after.newlines
                - self
                    .count_newlines(offset..after.offset)?
                    .min(after.newlines)),
            None => Ok(before.newlines + self.count_newlines(before.offset..offset)?),
        }
    }

    fn is_missing(&self, range: Range<u64>) -> bool {
        self.missing
            .iter()
            .any(|missing| missing.start < range.end && range.start < missing.end)
    }

    /// What is missing right before this offset.
    pub(crate) fn gap_before(&self, offset: u64) -> Option<Range<u64>> {
        let gap = self.missing.iter().find(|missing| missing.end == offset);
        gap.cloned()
    }

    fn count_newlines(&self, range: Range<u64>) -> io::Result<u64> {
        let mut count = 0;
        for chunk in self.chunks(range) {
            count += memchr_iter(b'\n', &chunk?).count() as u64;
        }
        Ok(count)
    }

    /// Where a line begins (counted from 1): the end, if there are not so many; what follows, if it is
    /// missing.
    pub fn line_start(&self, line: u64) -> io::Result<u64> {
        let Some(newlines) = line.checked_sub(1).filter(|count| *count > 0) else {
            return Ok(0);
        };
        let mark = self.index().before_line(newlines - 1);
        let mut left = newlines - mark.newlines;
        for piece in self.pieces(mark.offset..self.size) {
            match piece? {
                Piece::Bytes { at, bytes } => match nth_newline(&bytes, left) {
                    Ok(place) => return Ok(at + place + 1),
                    Err(found) => left -= found,
                },
                Piece::Missing(range) => {
                    let passed = self.newlines_before(range.end)?;
                    match newlines.checked_sub(passed) {
                        Some(more) if more > 0 => left = more,
                        _ => return Ok(range.end),
                    }
                }
            }
        }
        Ok(self.size)
    }

    /// Where the last `lines` lines begin. The end of something missing begins a line too.
    pub fn tail(&self, lines: u64) -> io::Result<u64> {
        let mut left = lines;
        let mut end = self.size;
        for there in self.present().into_iter().rev() {
            if left == 0 {
                return Ok(end);
            }
            match self.tail_within(there.clone(), &mut left)? {
                Some(start) => return Ok(start),
                None => end = there.start,
            }
            left = left.saturating_sub(1);
        }
        Ok(if lines == 0 { self.size } else { end })
    }

    /// What is not missing, in order.
    fn present(&self) -> Vec<Range<u64>> {
        let starts = std::iter::once(0).chain(self.missing.iter().map(|range| range.end));
        let ends = self
            .missing
            .iter()
            .map(|range| range.start)
            .chain([self.size]);
        starts
            .zip(ends)
            .filter(|(start, end)| start < end)
            .map(|(start, end)| start..end)
            .collect()
    }

    /// Looks back through a stretch for the beginning of the line `left` lines from its end.
    fn tail_within(&self, there: Range<u64>, left: &mut u64) -> io::Result<Option<u64>> {
        let mut end = there.end;
        while end > there.start {
            let start = end.saturating_sub(CHUNK).max(there.start);
            let bytes = self.read(start, end - start)?;
            for place in memrchr_iter(b'\n', &bytes) {
                let after = start + place as u64 + 1;
                // The newline that ends the last line begins none.
                if after == there.end {
                    continue;
                }
                *left -= 1;
                if *left == 0 {
                    return Ok(Some(after));
                }
            }
            end = start;
        }
        Ok(None)
    }

    /// Where the first line that came since this moment begins, to the second.
    pub fn since(&self, wall_ms: u64) -> io::Result<u64> {
        let offset = self.index().before_time(wall_ms).offset.min(self.size);
        let begins_line = offset == 0 || self.read(offset - 1, 1)? == b"\n";
        match begins_line {
            true => Ok(offset),
            false => self.line_start(self.newlines_before(offset)? + 2),
        }
    }

    /// When the byte at this offset had come, in Unix milliseconds; `None` where that is not known yet.
    pub fn time_of(&self, offset: u64) -> Option<u64> {
        match self.index().time_of(offset) {
            0 => None,
            wall_ms => Some(wall_ms),
        }
    }
}

/// The place of the `count`th newline, or how many there are.
fn nth_newline(bytes: &[u8], count: u64) -> Result<u64, u64> {
    let mut found = 0;
    for place in memchr_iter(b'\n', bytes) {
        found += 1;
        if found == count {
            return Ok(place as u64);
        }
    }
    Err(found)
}
