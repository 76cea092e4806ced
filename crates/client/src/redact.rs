//! Takes credentials out of text before a model or another machine sees it.
//!
//! This module owns one promise: what it recognises as a secret does not stand
//! in what it returns. It recognises two things. Shapes (`redact/table.rs`) are
//! the published formats of well-known credentials and the places where one
//! stands, such as `curl -u bob:…` and `Cookie: …`. Each is a row of one table:
//! a prefix with an alphabet or an expression, and the keywords without which it
//! cannot match. Names (`redact/names.rs`) are assignments such as
//! `DB_PASSWORD=…`, whatever the value looks like.
//!
//! ```text
//! text ── keywords ──► lines with a keyword ── shapes, names ──► spans ──► text
//!             └──► everything else is passed over, and borrowed
//! ```
//!
//! One automaton looks for every keyword at once, and only a line that has one
//! is looked at further, by the rules whose keywords it has. A rule's expression
//! is compiled when a line first asks for it. Lines are independent of each
//! other but for private keys in PEM, which [`Redactor`] follows over lines and
//! over calls (`redact/pem.rs`). [`Lines`] redacts them as they come.
//!
//! A secret becomes `[redacted:<kind>]`, after the public prefix of its format
//! if it has one (`ghp_[redacted:github-token]`). Redacting again changes nothing.
//!
//! What it does not do: it finds no secret that has neither a known shape nor a
//! telling name, none that is cut in two by a line break or by where the caller
//! cut the text, and none that is encoded a second time, but for private keys in
//! base64. How much it finds, and how little else it takes for a secret, is
//! measured on the corpus in `crates/client/tests/redaction`.

mod argv;
mod code;
mod keywords;
mod lines;
mod names;
mod pem;
mod rules;
mod table;
mod values;

use std::borrow::Cow;
use std::cmp::Reverse;

use memchr::{memchr, memrchr};

pub use argv::redact_argv;
pub use lines::Lines;

use keywords::{Keywords, Target};
use pem::{KeyBlock, Opening};
use table::RULES;

/// What a marker starts with; the kind and a `]` follow.
const MARKER: &str = "[redacted:";

/// A line is searched at most this often, until nothing more is found. Text beside a marker can look like a value only
/// once the marker is there. A second pass has always been enough.
const MAX_PASSES: usize = 8;

/// Replaces every secret found in `text`. Borrowed if there is none.
///
/// `text` should consist of whole lines. If it is a part of a stream, use a [`Redactor`], which knows whether the part
/// before ended inside a private key.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text)
}

/// Redacts a stream of lines, piece by piece.
#[derive(Debug, Default)]
pub struct Redactor {
    /// The private key whose end has not been seen yet.
    open_key: Option<KeyBlock>,
}

impl Redactor {
    /// A redactor for the text after these lines. If they end inside a private key, it knows that.
    pub fn after(before: &str) -> Redactor {
        let mut redactor = Redactor::default();
        redactor.redact(before);
        redactor
    }

    /// Replaces every secret found in the next lines of the stream.
    pub fn redact<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let mut edit = Edit::new(text);
        let mut at = 0;
        loop {
            at = self.skip_open_key(&mut edit, at);
            let Some(hit) = Keywords::get().first_in(text, at) else {
                return edit.finish();
            };
            let start = memrchr(b'\n', &text.as_bytes()[at..hit]).map_or(at, |i| at + i + 1);
            let end = line_end(text, hit);
            self.redact_line(&mut edit, start, end);
            at = end;
        }
    }

    /// Drops the lines of an open private key and returns where they end.
    fn skip_open_key(&mut self, edit: &mut Edit<'_>, mut at: usize) -> usize {
        while let Some(block) = &mut self.open_key
            && at < edit.text.len()
        {
            let end = line_end(edit.text, at);
            let line = &edit.text[at..end];
            match block.next_line(line) {
                pem::Line::Body => edit.replace(at, end, ""),
                pem::Line::End { rest } => {
                    self.open_key = None;
                    let after = at + rest;
                    if line[rest..].trim().is_empty() {
                        edit.replace(at, end, "");
                        return end;
                    }
                    edit.replace(at, after, "");
                    return after;
                }
                pem::Line::Unrelated => {
                    self.open_key = None;
                    return at;
                }
            }
            at = end;
        }
        at
    }

    fn redact_line(&mut self, edit: &mut Edit<'_>, start: usize, end: usize) {
        let whole = &edit.text[start..end];
        let line = whole.trim_end_matches(['\n', '\r']);
        let (redacted, notes) = redact_line(line);
        if let Some(opening) = notes.opens_key {
            self.open_key = Some(KeyBlock::after(opening));
        }
        if notes.stray_key_end {
            let body = pem::body_before(&edit.text[edit.done..start]);
            edit.replace(start - body, start, "");
        }
        if let Some(redacted) = redacted {
            edit.replace(start, start + line.len(), &redacted);
        }
    }
}

/// What a line says about the lines around it.
#[derive(Clone, Copy, Debug, Default)]
struct Notes {
    /// A private key starts here and goes on in the next line.
    opens_key: Option<Opening>,
    stray_key_end: bool,
}

/// A secret in a line: `start..keep` is public and stays, `keep..end` goes.
#[derive(Debug)]
struct Span {
    start: usize,
    keep: usize,
    end: usize,
    kind: &'static str,
}

fn redact_line(line: &str) -> (Option<String>, Notes) {
    let mut notes = Notes::default();
    let mut redacted: Option<String> = None;
    for _ in 0..MAX_PASSES {
        let current = redacted.as_deref().unwrap_or(line);
        let spans = merged(find_spans(current, &mut notes));
        if spans.is_empty() {
            break;
        }
        redacted = Some(replace_spans(current, &spans));
    }
    (redacted, notes)
}

/// Whether this position is inside a marker, whose kind could be taken for a name.
fn is_in_marker(line: &str, at: usize) -> bool {
    /// At least the length of the longest marker.
    const FAR: usize = 64;
    let before = &line.as_bytes()[at.saturating_sub(FAR)..at];
    let start = memrchr(b'[', before);
    start.is_some_and(|start| {
        before[start..].starts_with(MARKER.as_bytes()) && !before[start..].contains(&b']')
    })
}

fn find_spans(line: &str, notes: &mut Notes) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut patterns: u128 = 0;
    let mut has_key_line = false;
    let mut names_from = 0;
    // What each rule has searched. A prefix within that range is skipped, because searching there again would take
    // quadratic time.
    let mut looked = [(0, 0); RULES.len()];
    Keywords::get().each_in(line, |target, at| match target {
        Target::Token(rule) if looked[rule].0 < at.start && at.start < looked[rule].1 => {}
        Target::Token(rule) => {
            let start = at.start;
            looked[rule] = (start, RULES[rule].find_token(line, at, &mut spans));
        }
        Target::Pattern(rule) => patterns |= 1 << rule,
        Target::PrivateKey => has_key_line = true,
        Target::Name if at.start < names_from || is_in_marker(line, at.start) => {}
        Target::Name => names_from = names::find(line, at, names_from, &mut spans),
    });
    if has_key_line {
        pem::find(line, notes, &mut spans);
    }
    let is_asked_for = |i: &usize| patterns & (1 << i) != 0;
    for rule in (0..RULES.len()).filter(is_asked_for) {
        RULES[rule].find_pattern(line, &mut spans);
    }
    spans
}

/// Joins spans that overlap. If two cover the same text, the one that keeps a prefix names the kind, and otherwise the
/// one found last: shapes say more than names.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.reverse();
    spans.sort_by_key(|span| (span.start, Reverse(span.end), Reverse(span.keep)));
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

fn replace_spans(line: &str, spans: &[Span]) -> String {
    let mut out = String::with_capacity(line.len() + spans.len() * 16);
    let mut at = 0;
    for span in spans {
        out.push_str(&line[at..span.keep]);
        out.push_str(MARKER);
        out.push_str(span.kind);
        out.push(']');
        at = span.end;
    }
    out.push_str(&line[at..]);
    out
}

/// The length of the marker that `text` starts with, including a public prefix before it.
fn marker_len(text: &str) -> Option<usize> {
    /// Longer than any prefix the rules keep.
    const MAX_PREFIX: usize = 24;
    let open = memchr(b'[', &text.as_bytes()[..text.len().min(MAX_PREFIX + 1)])?;
    let is_prefix = |b: u8| b.is_ascii_alphanumeric() || b"_-.:".contains(&b);
    if !text.as_bytes()[..open].iter().all(|b| is_prefix(*b)) {
        return None;
    }
    let kind = text[open..].strip_prefix(MARKER)?;
    let len = kind
        .bytes()
        .take_while(|b| b.is_ascii_lowercase() || *b == b'-')
        .count();
    (len > 0 && kind[len..].starts_with(']')).then(|| open + MARKER.len() + len + 1)
}

/// Where the line ends that contains `at`, including its newline.
fn line_end(text: &str, at: usize) -> usize {
    memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |i| at + i + 1)
}

/// A text that is rewritten from front to back. It is copied only when it changes.
#[derive(Debug)]
struct Edit<'t> {
    text: &'t str,
    out: Option<String>,
    /// How much of `text` is in `out` already.
    done: usize,
}

impl<'t> Edit<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            out: None,
            done: 0,
        }
    }

    fn replace(&mut self, start: usize, end: usize, with: &str) {
        if start == end && with.is_empty() {
            return;
        }
        let out = self
            .out
            .get_or_insert_with(|| String::with_capacity(self.text.len()));
        out.push_str(&self.text[self.done..start]);
        out.push_str(with);
        self.done = end;
    }

    fn finish(self) -> Cow<'t, str> {
        match self.out {
            None => Cow::Borrowed(self.text),
            Some(mut out) => {
                out.push_str(&self.text[self.done..]);
                Cow::Owned(out)
            }
        }
    }
}

#[cfg(test)]
mod tests;
