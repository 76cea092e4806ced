//! Private keys in PEM: `-----BEGIN … PRIVATE KEY-----` to the matching `END`.
//!
//! A key on one line, with its line breaks escaped as in JSON, is a span like any other. A key over several lines
//! becomes one marker line: its `BEGIN` line is replaced by the marker, and its body and `END` lines are dropped. If
//! the `END` never comes, the key ends where lines stop looking like a body. If the `BEGIN` was cut off, the body is
//! searched for backwards from the `END`.
//!
//! `ssh.com` writes the boundaries with four dashes and spaces. PuTTY has none: its line `Private-Lines: N` says that
//! the key follows.

use std::sync::LazyLock;

use regex::Regex;

use super::{Notes, Span};

const KIND: &str = "private-key";

/// A line that contains none of these contains no boundary of a key.
pub(super) const KEYWORDS: [&str; 2] = ["PRIVATE KEY", "Private-Lines: "];

/// A 16384-bit RSA key has about 200 lines.
pub(super) const MAX_BODY_LINES: usize = 512;

/// Programs that write PEM use base64 lines of at least 64 characters, except for the last line. A line shorter than
/// this does not show that it belongs to a key.
const FULL_LINE: usize = 40;

static BOUNDARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"-{4,5} ?(BEGIN|END) (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: ([0-9]{1,3})",
    )
    .expect("a constant expression")
});

/// What the first line of a private key says about the other lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// How many words come before the key. A logger may write them before each line.
    lead: usize,
    /// At most this many lines follow.
    most: usize,
}

/// A private key whose `BEGIN` line has been seen.
#[derive(Debug)]
pub(super) struct KeyBlock {
    opening: Opening,
    lines: usize,
    /// Whether a short line was seen, which is the last line of a body.
    is_complete: bool,
}

/// How the next line belongs to an open key.
pub(super) enum Line {
    Body,
    /// The key ends in this line, `rest` bytes into it.
    End {
        rest: usize,
    },
    Unrelated,
}

impl KeyBlock {
    pub(super) fn after(opening: Opening) -> KeyBlock {
        KeyBlock {
            opening,
            lines: 0,
            is_complete: false,
        }
    }

    pub(super) fn next_line(&mut self, line: &str) -> Line {
        self.lines += 1;
        if line.contains("----")
            && let Some(found) = BOUNDARY.captures(line)
            && found.get(1).is_some_and(|word| word.as_str() == "END")
        {
            let rest = found.get_match().end();
            return Line::End { rest };
        }
        if self.lines > self.opening.most {
            return Line::Unrelated;
        }
        if is_body(line) {
            return Line::Body;
        }
        match self.is_last_of_body(line) && !self.is_complete {
            true => {
                self.is_complete = true;
                Line::Body
            }
            false => Line::Unrelated,
        }
    }

    /// Whether the line is a short word of base64 after as many words as there were before the `BEGIN`.
    fn is_last_of_body(&self, line: &str) -> bool {
        let lead = self.opening.lead;
        let mut words = line.split_whitespace().skip(lead);
        let is_body = words.next().is_some_and(|word| word.bytes().all(is_base64));
        lead > 0 && is_body && words.next().is_none()
    }
}

/// Finds whole keys and the boundaries of keys in one line.
pub(super) fn find(line: &str, notes: &mut Notes, spans: &mut Vec<Span>) {
    let mut open: Option<(usize, usize)> = None;
    for found in BOUNDARY.captures_iter(line) {
        let whole = found.get_match();
        if let Some(count) = found.get(2) {
            notes.opens_key = Some(Opening {
                lead: words_in(&line[..whole.start()]),
                most: count.as_str().parse().unwrap_or(MAX_BODY_LINES),
            });
            spans.push(span(count.start(), count.end()));
            continue;
        }
        match (&found[1], open) {
            ("BEGIN", None) => open = Some((whole.start(), whole.end())),
            ("BEGIN", Some(_)) => {}
            (_, Some((start, _))) => {
                open = None;
                spans.push(span(start, whole.end()));
            }
            (_, None) => {
                notes.stray_key_end = true;
                spans.push(span(whole.start(), whole.end()));
            }
        }
    }
    let Some((start, end)) = open else { return };
    let rest = &line[end..];
    let opening = Opening {
        lead: words_in(&line[..start]),
        most: MAX_BODY_LINES,
    };
    // If something else follows, it is code that only mentions the boundary.
    if rest.trim_matches(is_trimming).replace(r"\n", "").is_empty() {
        notes.opens_key = Some(opening);
        spans.push(span(start, end));
    } else if longest_base64_run(rest) >= FULL_LINE / 2 {
        notes.opens_key = Some(opening);
        spans.push(span(start, line.len()));
    }
}

fn words_in(text: &str) -> usize {
    text.split_whitespace().count()
}

/// How a line may belong to a key whose `BEGIN` was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyPart {
    /// A full line of its body.
    Full,
    /// The last line of its body.
    Short,
    End,
    Elsewhere,
}

pub(super) fn place(line: &str) -> BodyPart {
    if line.contains("PRIVATE KEY") {
        let mut notes = Notes::default();
        find(line, &mut notes, &mut Vec::new());
        return match notes.stray_key_end {
            true => BodyPart::End,
            false => BodyPart::Elsewhere,
        };
    }
    match longest_base64_run(line) {
        FULL_LINE.. if is_body(line) => BodyPart::Full,
        1..FULL_LINE if is_body(line) => BodyPart::Short,
        _ => BodyPart::Elsewhere,
    }
}

/// How many bytes at the end of `text` are body lines of a key.
pub(super) fn body_before(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n').rev().peekable();
    let mut len = 0;
    let mut is_last = true;
    while let Some(line) = lines.next_if(|line| {
        let run = longest_base64_run(line);
        is_body(line) && (run >= FULL_LINE || is_last && run > 0)
    }) {
        len += line.len();
        is_last = false;
    }
    len
}

fn span(start: usize, end: usize) -> Span {
    Span {
        start,
        keep: start,
        end,
        kind: KIND,
    }
}

/// Whether `line` can be a part of a key: an empty line, a header of a key, or base64. A logger or a diff may have
/// written something before it.
fn is_body(line: &str) -> bool {
    const HEADERS: [&str; 5] = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:"];
    let line = line.trim_matches(is_trimming);
    if line.is_empty() || HEADERS.iter().any(|header| line.starts_with(header)) {
        return true;
    }
    let mut words = line.rsplit([' ', '\t']);
    let last = words.next().unwrap_or(line).trim_matches(is_trimming);
    let is_alone = words.next().is_none();
    last.replace(r"\n", "").bytes().all(is_base64) && (is_alone || last.len() >= FULL_LINE)
}

fn is_trimming(c: char) -> bool {
    c.is_whitespace() || "\"',;|>#\\-".contains(c)
}

fn is_base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"+/=".contains(&b)
}

fn longest_base64_run(text: &str) -> usize {
    let runs = text.as_bytes().split(|b| !is_base64(*b));
    runs.map(<[u8]>::len).max().unwrap_or(0)
}
