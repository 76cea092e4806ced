//! Shows single lines. A line never depends on earlier lines, because a newline ends every escape
//! sequence.
//!
//! A **plain** line is shown unchanged: valid UTF-8 without control characters except tabs. Most lines
//! are plain, and a fast scan detects that. A line that also has colours, and the carriage return that
//! a terminal puts before the newline, only loses those. All other lines go through a [`View`].

use super::decode::{is_printable, run_of};
use super::{Options, View};
use memchr::{memchr, memrchr};
use std::borrow::Cow;

/// Enough for searching. In a longer line that is not plain, only the two ends are searched.
const LIMIT: usize = 64 * 1024;

/// No colour sequence is that long. The decoder handles anything longer.
const LONGEST_COLOUR: usize = 256;

/// One line of an output, as a view shows it.
#[must_use]
pub fn line(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if is_plain(text) => Cow::Borrowed(text),
        _ => {
            let mut shown = String::new();
            show(bytes, &mut shown);
            Cow::Owned(shown)
        }
    }
}

/// Shows many lines, each by itself. The newlines stay the same. `shown` is the buffer for text that
/// differs from the input.
pub(crate) fn lines<'a>(bytes: &'a [u8], shown: &'a mut String) -> &'a [u8] {
    shown.clear();
    let mut done = 0;
    while let Some(odd) = first_odd(bytes, done) {
        push_plain(&bytes[done..odd.0], shown);
        show(&bytes[odd.0..odd.1], shown);
        done = odd.1;
    }
    if done == 0 {
        return bytes;
    }
    push_plain(&bytes[done..], shown);
    shown.as_bytes()
}

fn push_plain(bytes: &[u8], shown: &mut String) {
    shown.push_str(str::from_utf8(bytes).expect("plain lines are UTF-8"));
}

/// The start and end of the first line that is not plain. `from` must be the start of a line.
fn first_odd(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let mut at = from;
    loop {
        at += run_of(&bytes[at..], |byte| {
            is_printable(byte) | (byte == b'\t') | (byte == b'\n')
        });
        let end = |at| memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1);
        match bytes.get(at)? {
            0x80.. if str::from_utf8(&bytes[at..end(at)]).is_ok_and(is_plain) => at = end(at),
            _ => {
                let start = memrchr(b'\n', &bytes[from..at]).map_or(from, |end| from + end + 1);
                return Some((start, end(at)));
            }
        }
    }
}

fn is_plain(text: &str) -> bool {
    text.chars()
        .all(|c| !c.is_control() || c == '\t' || c == '\n')
}

/// Appends what a view shows of a line.
fn show(line: &[u8], shown: &mut String) {
    let before = shown.len();
    if !show_without_colours(line, shown) {
        shown.truncate(before);
        shown.push_str(&viewed(line));
    }
}

pub(super) fn viewed(line: &[u8]) -> String {
    let mut view = View::new(Options {
        budget: 4 * LIMIT,
        line_limit: LIMIT,
    });
    view.push(line);
    view.finish().text
}

/// Appends a line that is plain except for colours and a carriage return before its newline. Returns
/// `false` if the line contains anything else.
fn show_without_colours(line: &[u8], shown: &mut String) -> bool {
    if line.len() > LIMIT {
        return false;
    }
    let Ok(line) = str::from_utf8(line) else {
        return false;
    };
    let mut rest = line;
    while let Some(control) = rest.find(|c: char| c.is_control() && c != '\t') {
        let (plain, from) = rest.split_at(control);
        shown.push_str(plain);
        rest = match from {
            "\n" | "\r\n" => {
                shown.push('\n');
                return true;
            }
            _ => match after_colour(from) {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
    shown.push_str(rest);
    true
}

/// What follows a sequence that sets a colour or erases everything after the cursor.
fn after_colour(text: &str) -> Option<&str> {
    let parameters = text.strip_prefix("\x1b[")?;
    let last = parameters.bytes().take(LONGEST_COLOUR);
    let last = last.take_while(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
    let (numbers, rest) = parameters.split_at(last.count());
    match rest.as_bytes().first()? {
        b'm' => Some(&rest[1..]),
        b'K' if matches!(numbers, "" | "0") => Some(&rest[1..]),
        _ => None,
    }
}
