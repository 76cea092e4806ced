//! The simplest possible view: the whole input at once, no limits, each line a vector of characters.

use crate::view::decode::LONGEST_SEQUENCE;
use crate::view::line::EDGE;

/// The lines, each with its newline.
pub fn lines(input: &[u8]) -> Vec<String> {
    let mut row = Row::default();
    let mut lines = Vec::new();
    let mut at = 0;
    while at < input.len() {
        at = match input[at] {
            b'\n' => {
                lines.push(row.text() + "\n");
                row = Row::default();
                at + 1
            }
            b'\r' => {
                row.cursor = 0;
                at + 1
            }
            0x08 => {
                row.cursor = row.cursor.saturating_sub(1);
                at + 1
            }
            0x1b => escape(input, at + 1, &mut row),
            0x80.. => character(input, at, &mut row),
            byte => {
                if byte == b'\t' || (0x20..0x7f).contains(&byte) {
                    row.put(char::from(byte));
                }
                at + 1
            }
        };
    }
    let rest = row.text();
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

#[derive(Default)]
struct Row {
    cells: Vec<char>,
    cursor: usize,
    overwritten: bool,
}

impl Row {
    fn put(&mut self, character: char) {
        if self.cursor < self.cells.len() {
            self.overwritten = true;
            self.cells[self.cursor] = character;
        } else {
            self.cells.resize(self.cursor, ' ');
            self.cells.push(character);
        }
        self.cursor += 1;
    }

    fn text(&self) -> String {
        let text: String = self.cells.iter().collect();
        match self.overwritten {
            true => text.trim_end_matches(' ').to_owned(),
            false => text,
        }
    }

    fn command(&mut self, parameters: &[u8], last: u8) {
        let parameters = String::from_utf8_lossy(parameters);
        if !parameters.chars().all(|c| c.is_ascii_digit()) {
            return;
        }
        // More digits than a number can hold count as the largest number.
        let number = match parameters.is_empty() {
            true => 0,
            false => parameters.parse().unwrap_or(u64::MAX),
        };
        let count = number.clamp(1, 1_000_000_000) as usize;
        let edge = self.cells.len().max(EDGE);
        match (last, number) {
            (b'C', _) => self.cursor = self.cursor.max(edge.min(self.cursor + count)),
            (b'D', _) => self.cursor = self.cursor.saturating_sub(count),
            (b'G', _) => self.cursor = edge.min(count - 1),
            (b'K', 0) => self.cells.truncate(self.cursor),
            (b'K', 1) if self.cursor + 1 < self.cells.len() => {
                self.cells[..=self.cursor].fill(' ');
            }
            (b'K', 1 | 2) => self.cells.clear(),
            _ => {}
        }
    }
}

fn character(input: &[u8], at: usize, row: &mut Row) -> usize {
    let ahead = &input[at..input.len().min(at + 4)];
    let chunk = ahead.utf8_chunks().next().expect("there is a byte");
    if let Some(character) = chunk.valid().chars().next() {
        if !character.is_control() {
            row.put(character);
        }
        return at + character.len_utf8();
    }
    row.put('\u{fffd}');
    at + chunk.invalid().len()
}

/// `start` is where the length of the sequence is counted from.
fn escape(input: &[u8], start: usize, row: &mut Row) -> usize {
    match input.get(start) {
        Some(b'[') => csi(input, start, start + 1, row),
        Some(b']' | b'P' | b'X' | b'^' | b'_' | b'k') => string(input, start, start + 1),
        _ => {
            let end = while_in(input, start, start, |byte| (0x20..=0x2f).contains(&byte));
            let within = end < start + LONGEST_SEQUENCE;
            match input.get(end) {
                Some(0x30..=0x7e) if within => end + 1,
                _ => end,
            }
        }
    }
}

fn csi(input: &[u8], start: usize, from: usize, row: &mut Row) -> usize {
    let end = while_in(input, start, from, |byte| (0x20..=0x3f).contains(&byte));
    match input.get(end) {
        Some(last @ 0x40..=0x7e) if end < start + LONGEST_SEQUENCE => {
            row.command(&input[from..end], *last);
            end + 1
        }
        _ => end,
    }
}

fn string(input: &[u8], start: usize, from: usize) -> usize {
    while_in(input, start, from, |byte| {
        !b"\n\x07\x18\x1a\x1b".contains(&byte)
    })
}

/// The first index at which `holds` is false, or where the sequence is too long.
fn while_in(input: &[u8], start: usize, from: usize, holds: impl Fn(u8) -> bool) -> usize {
    let limit = input.len().min(start + LONGEST_SEQUENCE);
    (from..limit).find(|at| !holds(input[*at])).unwrap_or(limit)
}
