//! Keeps the first and the last lines of a text within a budget, and counts the lines between them.
//!
//! Lines go to the head until one does not fit into half of the budget. That line and all later ones go
//! to the tail, which drops lines from its front when it is full. If the budget has hardly more room
//! than the note about omitted lines needs, the end is kept.

use super::Viewed;
use super::line::Shown;
use memchr::memchr;
use std::collections::VecDeque;

/// The length of the note about omitted lines: 28 bytes, plus 26 for a number and 13 for a size.
pub(super) const MARK: usize = 67;

#[derive(Debug)]
pub(super) struct Excerpt {
    budget: usize,
    head: String,
    head_lines: u64,
    head_shortened: u64,
    tail: Tail,
    omitted_lines: u64,
    omitted_bytes: u64,
}

/// Consecutive lines. Dropped text before `start` is removed from the buffer now and then.
#[derive(Debug, Default)]
struct Tail {
    text: String,
    start: usize,
    /// How many lines were added, and how many of them were dropped.
    lines: u64,
    gone: u64,
    /// The number and the full length of each shortened line that is still here.
    shortened: VecDeque<(u64, u64)>,
}

impl Excerpt {
    pub(super) fn new(budget: usize) -> Excerpt {
        Excerpt {
            budget,
            head: String::new(),
            head_lines: 0,
            head_shortened: 0,
            tail: Tail::default(),
            omitted_lines: 0,
            omitted_bytes: 0,
        }
    }

    pub(super) fn push(&mut self, line: &Shown<'_>, end: &str) {
        let length = line.text.len() + end.len();
        let most_head = self.budget.saturating_sub(MARK) / 2;
        if self.tail.lines == 0 && self.head.len() + length <= most_head {
            self.head.push_str(line.text);
            self.head.push_str(end);
            self.head_lines += 1;
            self.head_shortened += u64::from(line.shortened_from.is_some());
            return;
        }
        self.tail.push(line, end);
        self.fit(0);
        self.tail.compact(self.budget);
    }

    /// Drops lines until there is room for `more` bytes.
    fn fit(&mut self, more: usize) {
        let room = self.budget.saturating_sub(self.head.len() + more);
        while self.tail.len() > room {
            self.omitted_bytes += self.tail.let_go();
            self.omitted_lines += 1;
        }
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.head.capacity() + self.tail.text.capacity() + 16 * self.tail.shortened.capacity()
    }

    /// Makes room for the note about omitted lines. The note counts the lines that this drops, too.
    fn fit_mark(&mut self) -> String {
        loop {
            let omitted = self.omitted_lines;
            let said = mark(omitted, self.omitted_bytes);
            self.fit(said.len());
            if self.omitted_lines == omitted {
                return said;
            }
        }
    }

    /// `first_line` is the number of the first line.
    pub(super) fn finish(mut self, first_line: u64) -> Viewed {
        let omitted = self.omitted_lines > 0;
        let said = match omitted {
            true => self.fit_mark(),
            false => String::new(),
        };
        let text = self.head + &said + self.tail.text();
        Viewed {
            text,
            omitted_bytes: self.omitted_bytes,
            omitted_lines: self.omitted_lines,
            omitted_from_line: omitted.then_some(first_line + self.head_lines),
            shortened_lines: self.head_shortened + self.tail.shortened.len() as u64,
        }
    }
}

impl Tail {
    fn text(&self) -> &str {
        &self.text[self.start..]
    }

    fn len(&self) -> usize {
        self.text.len() - self.start
    }

    fn push(&mut self, line: &Shown<'_>, end: &str) {
        if let Some(length) = line.shortened_from {
            self.shortened.push_back((self.lines, length));
        }
        self.text.push_str(line.text);
        self.text.push_str(end);
        self.lines += 1;
    }

    /// Drops the first line and returns its length.
    fn let_go(&mut self) -> u64 {
        let text = self.text();
        let newline = memchr(b'\n', text.as_bytes());
        let (shown, end) = newline.map_or((text.len(), 0), |at| (at, 1));
        self.start += shown + end;
        let length = match self.shortened.front() {
            Some((number, length)) if *number == self.gone => {
                let length = *length;
                self.shortened.pop_front();
                length
            }
            _ => shown as u64,
        };
        self.gone += 1;
        length + end as u64
    }

    /// Moves the text to the front of the buffer once that moves no more than was dropped.
    fn compact(&mut self, budget: usize) {
        if self.start > budget {
            self.text.drain(..self.start);
            self.start = 0;
        }
    }
}

pub(super) fn mark(lines: u64, bytes: u64) -> String {
    let noun = match lines {
        1 => "line",
        _ => "lines",
    };
    format!(
        "[… {} {noun}, {} left out …]\n",
        grouped(lines),
        size(bytes)
    )
}

/// Formats a number with commas.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Rounded down, for a reader. Programs get the exact number.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1_000, "kB"),
    ];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}
