//! The current line: a row of characters and a cursor.
//!
//! Text overwrites the characters under the cursor, so a progress bar leaves its last state. The cursor
//! can move back only within the first [`Line::width`] columns. Text past them is written once, from
//! its beginning, and only its end is stored; the rest is counted. That text can be written again from
//! its start, but not edited.
//!
//! A line that is longer than the limit is shown without its middle.

use super::decode::Part;

/// Far wider than terminals are.
const LEAST_WIDTH: usize = 4096;

/// Where the cursor stops when it is sent past the end of the text. A program that goes to column 999
/// looks for the right edge of the screen.
pub(super) const EDGE: usize = 256;

/// The length of the note about omitted bytes: 28 bytes, and 26 for a number with commas.
pub(super) const MARK: usize = 54;

#[derive(Debug)]
pub(super) struct Line {
    width: usize,
    limit: usize,
    /// The text in the first `width` columns.
    text: String,
    /// The number of characters in `text`.
    columns: usize,
    cursor: Cursor,
    past: Past,
    /// Whether something was overwritten. Then blanks at the end erased old text and are not shown.
    overwritten: bool,
    /// The text that was last composed to show this line.
    shortened: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cursor {
    /// A column from 0 to `width`; it may be beyond the text.
    At(usize),
    /// After everything past the width.
    Past,
}

/// The end of the text past the width.
#[derive(Debug, Default)]
struct Past {
    bytes: u64,
    /// All of it, or at least the last `limit` bytes, less a part of a character.
    end: String,
}

/// A line as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown<'a> {
    pub(super) text: &'a str,
    /// The full length of the line, if its middle was left out.
    pub(super) shortened_from: Option<u64>,
}

impl<'a> Shown<'a> {
    pub(super) fn whole(text: &'a str) -> Shown<'a> {
        Shown {
            text,
            shortened_from: None,
        }
    }
}

impl Line {
    pub(super) fn new(limit: usize) -> Line {
        Line::with_width(limit, LEAST_WIDTH)
    }

    /// The width is at least the limit, so that the shown beginning is within it.
    pub(super) fn with_width(limit: usize, width: usize) -> Line {
        Line {
            width: width.max(limit),
            limit,
            text: String::new(),
            columns: 0,
            cursor: Cursor::At(0),
            past: Past::default(),
            overwritten: false,
            shortened: String::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.columns = 0;
        self.cursor = Cursor::At(0);
        self.past.clear();
        self.overwritten = false;
    }

    pub(super) fn write(&mut self, text: &str) {
        match self.cursor {
            Cursor::Past => self.past.push(text, self.limit),
            // A character has at least one byte, so this fits.
            Cursor::At(column) if column == self.columns && column + text.len() <= self.width => {
                self.text.push_str(text);
                self.columns += text.chars().count();
                self.cursor = Cursor::At(self.columns);
            }
            Cursor::At(column) => self.overwrite(column, text),
        }
    }

    fn overwrite(&mut self, column: usize, text: &str) {
        let room = self.width - column;
        let (fits, rest) = text.split_at(byte_of(text, room));
        let count = fits.chars().count();
        if count > 0 {
            self.pad_to(column);
            self.overwritten |= column < self.columns;
            let from = byte_of(&self.text, column);
            let to = from + byte_of(&self.text[from..], count);
            self.text.replace_range(from..to, fits);
            self.columns = self.columns.max(column + count);
            self.cursor = Cursor::At(column + count);
        }
        if !rest.is_empty() {
            self.pad_to(self.width);
            self.past.clear();
            self.past.push(rest, self.limit);
            self.cursor = Cursor::Past;
        }
    }

    fn pad_to(&mut self, column: usize) {
        if self.columns < column {
            self.text.push_str(&" ".repeat(column - self.columns));
            self.columns = column;
        }
    }

    pub(super) fn left(&mut self, count: usize) {
        if let Cursor::At(column) = self.cursor {
            self.cursor = Cursor::At(column.saturating_sub(count));
        }
    }

    pub(super) fn right(&mut self, count: usize) {
        if let Cursor::At(column) = self.cursor {
            let to = column.saturating_add(count).min(self.rightmost());
            self.cursor = Cursor::At(to.max(column));
        }
    }

    pub(super) fn go_to(&mut self, column: usize) {
        self.cursor = Cursor::At(column.min(self.rightmost()));
    }

    fn rightmost(&self) -> usize {
        self.columns.max(EDGE.min(self.width))
    }

    pub(super) fn erase(&mut self, part: Part) {
        match (part, self.cursor) {
            (Part::FromCursor, Cursor::Past) => {}
            (Part::FromCursor, Cursor::At(column)) => {
                self.text.truncate(byte_of(&self.text, column));
                self.columns = self.columns.min(column);
                self.past.clear();
            }
            (Part::ToCursor, Cursor::At(column)) if self.keeps_after(column) => {
                let to = byte_of(&self.text, column + 1);
                let blanks = (column + 1).min(self.columns);
                self.text.replace_range(..to, &" ".repeat(blanks));
            }
            (Part::ToCursor | Part::All, cursor) => {
                self.text.clear();
                self.columns = 0;
                self.past.clear();
                if cursor == Cursor::Past {
                    self.cursor = Cursor::At(self.width);
                }
            }
        }
    }

    /// Whether there is text after this column.
    fn keeps_after(&self, column: usize) -> bool {
        column + 1 < self.columns || self.past.bytes > 0
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.text.capacity() + self.past.end.capacity() + self.shortened.capacity()
    }

    /// The line as it is now.
    pub(super) fn shown(&mut self) -> Shown<'_> {
        // `self.text` stays unchanged, because more text may come.
        let text = match self.overwritten && self.past.bytes == 0 {
            true => self.text.trim_end_matches(' '),
            false => &self.text,
        };
        let bytes = text.len() as u64 + self.past.bytes;
        if bytes <= self.limit as u64 {
            return Shown::whole(text);
        }
        let room = self.limit.saturating_sub(MARK);
        let first = &text[..text.floor_char_boundary(room / 2)];
        let past = suffix(&self.past.end, room - room / 2);
        let last = match past.len() < self.past.end.len() {
            true => "",
            false => suffix(text, room - room / 2 - past.len()),
        };
        let left_out = bytes - (first.len() + last.len() + past.len()) as u64;
        self.shortened.clear();
        self.shortened.push_str(first);
        self.shortened.push_str(&mark(left_out));
        self.shortened.push_str(last);
        self.shortened.push_str(past);
        Shown {
            text: &self.shortened,
            shortened_from: Some(bytes),
        }
    }
}

/// The note that replaces this many bytes of a line.
pub(crate) fn mark(left_out: u64) -> String {
    let number = super::excerpt::grouped(left_out);
    format!(" … [{number} bytes left out] … ")
}

impl Past {
    fn clear(&mut self) {
        self.bytes = 0;
        self.end.clear();
    }

    fn push(&mut self, text: &str, limit: usize) {
        self.bytes += text.len() as u64;
        self.end.push_str(suffix(text, limit));
        // Wait until twice the limit is stored, so that each removal moves only text written since the
        // last one.
        if self.end.len() > 2 * limit {
            let from = self.end.len() - suffix(&self.end, limit).len();
            self.end.drain(..from);
        }
    }
}

/// The byte index of the character in this column; the end if there is none.
fn byte_of(text: &str, column: usize) -> usize {
    let mut after = text.chars();
    if column > 0 {
        // `nth` skips many characters at once, which a loop over the bytes would not.
        after.nth(column - 1);
    }
    text.len() - after.as_str().len()
}

/// The last whole characters within this many bytes.
fn suffix(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}
