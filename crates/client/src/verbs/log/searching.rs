//! Searches an output step by step, so that whoever searches can show how far it is, and give up.
//!
//! Where secrets are hidden, the text is searched as it is, and each hit is then read without secrets: it counts only if
//! it still matches. So the speed is that of a search, unless there are many hits.

use super::Log;
use crate::output::{Line, LinePattern, Look, Searched, read_redacted};
use crate::redact;
use crate::view;
use std::io;
use std::ops::Range;

/// How much is searched in one step: some milliseconds, unless there are many hits and secrets are hidden.
const STEP: u64 = 8 * 1024 * 1024;

/// How much text before a line may show what is secret in it.
const CONTEXT: u64 = 64 * 1024;

/// With more hits than this in one step, reading all of its lines is faster.
const MANY: usize = (STEP / CONTEXT) as usize;

/// A search in progress.
#[derive(Debug)]
pub struct Search<'a> {
    log: &'a Log,
    pattern: &'a LinePattern,
    left: Range<u64>,
}

impl Log {
    /// Searches the part, as text.
    pub fn searching<'a>(&'a self, pattern: &'a LinePattern) -> Search<'a> {
        Search {
            log: self,
            pattern,
            left: self.range.clone(),
        }
    }
}

impl Search<'_> {
    /// The offset up to which everything was searched.
    pub fn position(&self) -> u64 {
        self.left.start
    }

    /// The matching lines of the next few megabytes; `None` at the end.
    pub fn step(&mut self) -> io::Result<Option<Vec<Line>>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let output = &self.log.output;
        let stretch = self.left.start..self.end_of_step()?;
        self.left.start = stretch.end;
        let mut hits = Vec::new();
        for found in output.search(stretch.clone(), self.pattern, Searched::Text)? {
            hits.extend(found?);
            if self.log.hides_secrets && hits.len() > MANY {
                return self.read_all(stretch).map(Some);
            }
        }
        if !self.log.hides_secrets {
            return Ok(Some(hits));
        }
        let shown = hits.iter().filter_map(|hit| self.shown(hit).transpose());
        shown.collect::<io::Result<_>>().map(Some)
    }

    /// A line is not cut between two steps.
    fn end_of_step(&self) -> io::Result<u64> {
        let Range { start, end } = self.left;
        if end - start <= STEP {
            return Ok(end);
        }
        let output = &self.log.output;
        let line = output.newlines_before(start + STEP)? + 2;
        Ok(output.line_start(line)?.clamp(start + 1, end))
    }

    /// Reads every line of a stretch without secrets.
    fn read_all(&self, stretch: Range<u64>) -> io::Result<Vec<Line>> {
        let before = self.before(stretch.start)?;
        let lines = read_redacted(&before, self.log.output.lines(stretch)?);
        let is_hit = |line: &io::Result<Line>| match line {
            Ok(line) => self.pattern.is_match(&line.bytes),
            Err(_) => true,
        };
        lines.filter(is_hit).collect()
    }

    /// A hit without secrets, if it still matches.
    fn shown(&self, hit: &Line) -> io::Result<Option<Line>> {
        let mut redaction = redact::Lines::after(&self.before(hit.offset)?);
        let mut left: Option<Vec<u8>> = None;
        let mut keep = |is_hit: bool, text: &str| {
            if is_hit {
                left = Some(text.as_bytes().to_vec());
            }
        };
        let text = String::from_utf8_lossy(&hit.bytes);
        redaction.push(true, &text, &mut keep);
        if redaction.holds_any() {
            // The lines after it show whether it is a part of a key.
            let end = hit.offset + CONTEXT;
            for line in self.log.output.lines(hit.offset..end)?.skip(1) {
                redaction.push(false, &view::line(&line?.bytes), &mut keep);
                if !redaction.holds_any() {
                    break;
                }
            }
            redaction.release(&mut keep);
        }
        Ok(left
            .filter(|bytes| self.pattern.is_match(bytes))
            .map(|bytes| Line {
                bytes,
                ..hit.clone()
            }))
    }

    fn before(&self, offset: u64) -> io::Result<String> {
        let whole = view::Options {
            budget: usize::MAX,
            ..view::Options::default()
        };
        let range = offset.saturating_sub(CONTEXT)..offset;
        self.log.output.rendered(range, Look::Plain(whole))
    }
}
