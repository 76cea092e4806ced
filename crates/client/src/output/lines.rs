//! Finds lines: starts at the nearest mark of the index and scans at most one spacing.

use super::{CHUNK, Output, Piece};
use memchr::{memchr_iter, memrchr_iter};
use outlive_core::WallTime;
use std::io;
use std::ops::Range;

impl Output {
    /// How many newlines come before this offset. Missing ranges between two marks hide newlines. Then
    /// the count is derived backwards from the next mark.
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

    /// The missing range that ends at this offset.
    pub(crate) fn gap_before(&self, offset: u64) -> Option<Range<u64>> {
        let gap = self.missing.iter().find(|missing| missing.end == offset);
        gap.cloned()
    }

    fn count_newlines(&self, range: Range<u64>) -> io::Result<u64> {
        let mut count = 0;
        for piece in self.pieces_of(range, None) {
            if let Piece::Bytes { bytes, .. } = piece? {
                count += memchr_iter(b'\n', &bytes).count() as u64;
            }
        }
        Ok(count)
    }

    /// The offset of a line (numbered from 1). Returns the end if there are fewer lines, or the end of
    /// the missing range that contains the line.
    pub fn line_start(&self, line: u64) -> io::Result<u64> {
        let Some(newlines) = line.checked_sub(1).filter(|count| *count > 0) else {
            return Ok(0);
        };
        let mark = self.index().before_line(newlines - 1);
        let mut left = newlines - mark.newlines;
        for piece in self.pieces_of(mark.offset..self.size, None) {
            match piece? {
                Piece::Bytes { at, bytes, .. } => match nth_newline(&bytes, left) {
                    Ok(index) => return Ok(at + index + 1),
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

    /// The offset of the last `lines` lines. A line also begins after a missing range.
    pub fn tail(&self, lines: u64) -> io::Result<u64> {
        if let Some(stream) = self.only() {
            return self.tail_of(stream, lines);
        }
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

    /// The ranges that are not missing, in order.
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

    /// Searches backwards through a range for the start of the line that is `left` lines from its end.
    fn tail_within(&self, there: Range<u64>, left: &mut u64) -> io::Result<Option<u64>> {
        let mut end = there.end;
        while end > there.start {
            let start = end.saturating_sub(CHUNK).max(there.start);
            let bytes = self.read(start, end - start)?;
            for index in memrchr_iter(b'\n', &bytes) {
                let after = start + index as u64 + 1;
                // No line begins after the newline that ends the last line.
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

    /// The offset of the first line that came since this time, to the second.
    pub fn since(&self, time: WallTime) -> io::Result<u64> {
        let offset = self.index().before_time(time).offset.min(self.size);
        if let Some(stream) = self.only() {
            return self.next_line_of(stream, offset);
        }
        let begins_line = offset == 0 || self.read(offset - 1, 1)? == b"\n";
        match begins_line {
            true => Ok(offset),
            false => self.line_start(self.newlines_before(offset)? + 2),
        }
    }

    /// When the byte at this offset was written, if that is known yet.
    pub fn time_of(&self, offset: u64) -> Option<WallTime> {
        self.index().time_of(offset)
    }
}

/// The index of the `count`th newline, or else the number of newlines.
pub(super) fn nth_newline(bytes: &[u8], count: u64) -> Result<u64, u64> {
    let mut found = 0;
    for index in memchr_iter(b'\n', bytes) {
        found += 1;
        if found == count {
            return Ok(index as u64);
        }
    }
    Err(found)
}
