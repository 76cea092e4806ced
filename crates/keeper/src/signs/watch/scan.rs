//! Finding the lines that match, in output that comes in chunks cut anywhere.
//!
//! A line ends at its newline. A line that is written over (a progress bar) contains carriage returns. What is between
//! two of them is a text of its own. Escape sequences are not part of a text. An empty text counts only if the line has
//! no other. A line is reported once, for the first of its texts that matches.
//!
//! ```text
//! push: ├ rest of a line ┤├─────── whole lines, one search ───────┤├ begun ┤
//!        checked alone     escapes are removed first, if any        kept
//! ```
//!
//! Blocks of whole lines are searched at once (`Patterns::candidate`), and only lines found there are checked by
//! themselves. When the output pauses, the unfinished line may be a prompt: [`Scanner::still`] checks it as it is. A line
//! that was reported unfinished is skipped up to its newline.
//!
//! Memory is bounded: a line longer than 64 KiB is checked in windows of that size, each of which begins with the last
//! 4 KiB of the one before. A window is treated like a line. So in such a line a match longer than 4 KiB may be missed,
//! `^` and `$` also match at the edges of a window, and an inverted pattern looks at one window only. Windows depend on
//! the line alone, not on chunks.

use super::patterns::{PatternMatch, Patterns};
use super::strip::{has_escapes, strip};
use outlive_core::watch::Match;
use serde::{Deserialize, Serialize};

/// At most this many bytes of a line's text are reported.
pub const LONGEST_TEXT: usize = 2000;

/// How lines that are too long are split into windows.
#[derive(Clone, Copy, Debug)]
struct Windows {
    size: usize,
    /// The distance between the starts of two windows.
    step: usize,
}

/// Blocks of this size fit into the processor's nearer caches. Log lines are far shorter.
const WINDOWS: Windows = Windows {
    size: 64 * 1024,
    step: 60 * 1024,
};

/// A position from which another scanner can continue without missing a line or reporting one twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Where the first line begins that is not finished with.
    pub line: u64,
    /// Where to feed the output from: that line's start, or a later byte if the line is long or was reported.
    pub from: u64,
    /// That line was reported while it was unfinished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

impl Place {
    /// This place, or the line that begins at `offset` if that is later.
    pub fn not_before(self, offset: u64) -> Place {
        match self.from >= offset {
            true => self,
            false => Place {
                line: offset,
                from: offset,
                told: false,
            },
        }
    }
}

/// A line that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit<'a> {
    /// Where the line begins in the output.
    pub offset: u64,
    /// Where it ends, without the newline. For an unfinished line: how far it had come.
    pub end: u64,
    /// The number of the first positive pattern in it, if there is one.
    pub pattern: Option<usize>,
    /// The position behind this line: a scanner that continues from there does not find it again.
    pub after: Place,
    text: &'a [u8],
}

impl Hit<'_> {
    /// The text that matched, without escape sequences. A long text is cut.
    pub fn text(&self) -> String {
        // A character has at most four bytes, so a character that this cut splits lies beyond the limit.
        let beginning = &self.text[..self.text.len().min(LONGEST_TEXT + 3)];
        let mut text = String::from_utf8_lossy(beginning).into_owned();
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text
    }

    pub fn to_match(&self) -> Match {
        Match {
            offset: self.offset,
            end: self.end,
            pattern: self.pattern,
            text: self.text(),
        }
    }
}

/// Searches an output for patterns.
#[derive(Debug)]
pub struct Scanner {
    patterns: Patterns,
    windows: Windows,
    /// Where the line begins that is not finished with.
    line: u64,
    /// How many bytes of the output have been pushed.
    end: u64,
    /// That line was reported.
    told: bool,
    /// The bytes of the unfinished line that are still needed: its present window. Empty once it was reported.
    begun: Vec<u8>,
    /// A buffer for text without escape sequences, reused to save allocations.
    stripped: Vec<u8>,
}

/// What a text is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Line,
    /// A window of a long line, or an unfinished line.
    Piece,
}

impl Scanner {
    pub fn new(patterns: Patterns) -> Scanner {
        Scanner::resume(patterns, Place::default())
    }

    /// Continues from another scanner's position. The output from `place.from` on must be pushed next.
    pub fn resume(patterns: Patterns, place: Place) -> Scanner {
        Scanner {
            patterns,
            windows: WINDOWS,
            line: place.line,
            end: place.from,
            told: place.told,
            begun: Vec::new(),
            stripped: Vec::new(),
        }
    }

    /// The position from which another scanner can continue.
    pub fn place(&self) -> Place {
        Place {
            line: self.line,
            from: self.end - self.begun.len() as u64,
            told: self.told,
        }
    }

    /// How many bytes of the output have been pushed.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Scans the next bytes of the output.
    pub fn push(&mut self, bytes: &[u8], tell: &mut impl FnMut(Hit<'_>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = if self.told {
                self.pass(rest)
            } else if self.end > self.line {
                self.go_on(rest, tell)
            } else {
                self.whole_lines(rest, tell)
            };
            rest = &rest[used..];
        }
    }

    /// Checks the unfinished line as it is. Call this when the output has paused, and at the end of the output.
    pub fn still(&mut self, tell: &mut impl FnMut(Hit<'_>)) {
        if !self.told && !self.begun.is_empty() {
            self.judge_piece(self.begun.len(), tell);
        }
    }

    /// The next bytes are at this offset. The bytes before it are lost, and the unfinished line with them.
    pub fn skip_to(&mut self, offset: u64) {
        self.begun.clear();
        self.told = false;
        self.end = offset;
        self.line = offset;
    }

    /// Skips the rest of a line that was reported. Returns how many bytes it has used, as the functions below do.
    fn pass(&mut self, bytes: &[u8]) -> usize {
        let newline = memchr::memchr(b'\n', bytes);
        let used = newline.map_or(bytes.len(), |at| at + 1);
        self.end += used as u64;
        if newline.is_some() {
            self.settle();
        }
        used
    }

    /// Scans all whole lines of a block. If there is none, scans the beginning of a line.
    fn whole_lines(&mut self, bytes: &[u8], tell: &mut impl FnMut(Hit<'_>)) -> usize {
        // In a block of this size no line is longer than a window.
        let block = &bytes[..bytes.len().min(self.windows.size + 1)];
        let Some(last) = memchr::memrchr(b'\n', block) else {
            return self.go_on(bytes, tell);
        };
        self.search(&block[..=last], tell);
        self.end += last as u64 + 1;
        self.settle();
        last + 1
    }

    /// Scans more of a line, up to its end or the end of a window.
    fn go_on(&mut self, bytes: &[u8], tell: &mut impl FnMut(Hit<'_>)) -> usize {
        let room = self.windows.size + 1 - self.begun.len();
        let bytes = &bytes[..bytes.len().min(room)];
        if let Some(at) = memchr::memchr(b'\n', bytes) {
            self.begun.extend_from_slice(&bytes[..at]);
            self.end += at as u64 + 1;
            self.judge_last(tell);
            self.begun.clear();
            self.settle();
            return at + 1;
        }
        self.begun.extend_from_slice(bytes);
        self.end += bytes.len() as u64;
        // There is one byte more than a window, so the line is longer than the window.
        if self.begun.len() > self.windows.size {
            self.judge_piece(self.windows.size, tell);
            if !self.told {
                self.begun.drain(..self.windows.step);
            }
        }
        bytes.len()
    }

    fn settle(&mut self) {
        self.line = self.end;
        self.told = false;
    }

    /// Checks the last window of a finished line, mostly the whole line.
    fn judge_last(&mut self, tell: &mut impl FnMut(Hit<'_>)) {
        let end = self.end - 1;
        let part = match end - self.line == self.begun.len() as u64 {
            true => Part::Line,
            false => Part::Piece,
        };
        let text = text_of(&self.begun, &mut self.stripped);
        if let Some((found, text)) = judge(&self.patterns, text, part) {
            let after = Place::at(self.end);
            tell(hit(self.line, end, after, found, text));
        }
    }

    /// Checks the first `length` bytes of an unfinished line's window.
    fn judge_piece(&mut self, length: usize, tell: &mut impl FnMut(Hit<'_>)) {
        let from = self.end - self.begun.len() as u64;
        let text = text_of(&self.begun[..length], &mut self.stripped);
        if let Some((found, text)) = judge(&self.patterns, text, Part::Piece) {
            let end = from + length as u64;
            let after = Place {
                line: self.line,
                from: end,
                told: true,
            };
            tell(hit(self.line, end, after, found, text));
            self.told = true;
            self.begun.clear();
        }
    }

    /// Searches a block of whole lines that begins where the present line begins.
    fn search(&mut self, block: &[u8], tell: &mut impl FnMut(Hit<'_>)) {
        let text = text_of(block, &mut self.stripped);
        let mut lines = Lines::new(block, text);
        let mut from = 0;
        while let Some(at) = self.patterns.candidate(text, from) {
            let start = memchr::memrchr(b'\n', &text[from..at]).map_or(from, |end| from + end + 1);
            let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
            if let Some((found, text)) = judge(&self.patterns, &text[start..end], Part::Line) {
                let raw = lines.raw(start, end);
                let begin = self.line + raw.start as u64;
                let end = self.line + raw.end as u64;
                tell(hit(begin, end, Place::at(end + 1), found, text));
            }
            from = end + 1;
            if from >= text.len() {
                break;
            }
        }
    }
}

impl Place {
    /// The position of a line's beginning.
    fn at(offset: u64) -> Place {
        Place {
            line: offset,
            from: offset,
            told: false,
        }
    }
}

/// Finds the lines of a block from their positions in the block's stripped text, which has the same newlines.
struct Lines<'a> {
    block: &'a [u8],
    text: &'a [u8],
    /// Where the same line begins in both.
    block_at: usize,
    text_at: usize,
}

impl<'a> Lines<'a> {
    fn new(block: &'a [u8], text: &'a [u8]) -> Lines<'a> {
        Lines {
            block,
            text,
            block_at: 0,
            text_at: 0,
        }
    }

    /// The range in the block of a line of the text. Call this with lines in order.
    fn raw(&mut self, start: usize, end: usize) -> std::ops::Range<usize> {
        // No escape sequences were removed.
        if self.block.len() == self.text.len() {
            return start..end;
        }
        let passed = memchr::memchr_iter(b'\n', &self.text[self.text_at..start]).count();
        let mut newlines = memchr::memchr_iter(b'\n', &self.block[self.block_at..]);
        let skipped = passed.checked_sub(1).and_then(|last| newlines.nth(last));
        let begin = self.block_at + skipped.map_or(0, |newline| newline + 1);
        let finish = newlines
            .next()
            .map_or(self.block.len(), |newline| self.block_at + newline);
        self.block_at = begin;
        self.text_at = start;
        begin..finish
    }
}

fn text_of<'a>(raw: &'a [u8], stripped: &'a mut Vec<u8>) -> &'a [u8] {
    if !has_escapes(raw) {
        return raw;
    }
    strip(raw, stripped);
    stripped
}

/// The first text of a line that matches.
fn judge<'a>(patterns: &Patterns, line: &'a [u8], part: Part) -> Option<(PatternMatch, &'a [u8])> {
    if memchr::memchr(b'\r', line).is_none() && !line.is_empty() {
        return patterns.find(line).map(|found| (found, line));
    }
    let mut empty = true;
    for text in line.split(|byte| *byte == b'\r') {
        if text.is_empty() {
            continue;
        }
        empty = false;
        if let Some(found) = patterns.find(text) {
            return Some((found, text));
        }
    }
    match empty && part == Part::Line {
        true => patterns.find(b"").map(|found| (found, &line[..0])),
        false => None,
    }
}

fn hit(offset: u64, end: u64, after: Place, found: PatternMatch, text: &[u8]) -> Hit<'_> {
    Hit {
        offset,
        end,
        pattern: found.pattern,
        after,
        text,
    }
}

#[cfg(test)]
mod tests;
