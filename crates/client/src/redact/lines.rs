//! Redacts lines one by one, as they come.
//!
//! The lines of a private key are dropped from its `BEGIN` on, so nothing has to wait. But a key whose `BEGIN` was cut
//! off is recognised only by its `END`. So lines that look like the body of a key are held back until the next line
//! shows whether they are, or until the reader of the stream has waited long enough.

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memrchr;

use super::keywords::Keywords;
use super::pem::{self, BodyPart};
use super::{Redactor, redact};

/// Enough for the longest key.
const MAX_HELD_LINES: usize = pem::MAX_BODY_LINES;
const MAX_HELD_BYTES: usize = 64 * 1024;

/// A stream of whole lines, each with a tag of the caller.
#[derive(Debug)]
pub struct Lines<T> {
    redactor: Redactor,
    held: VecDeque<HeldLine<T>>,
    held_bytes: usize,
}

#[derive(Debug)]
struct HeldLine<T> {
    tag: T,
    text: String,
    place: BodyPart,
}

impl<T> Default for Lines<T> {
    fn default() -> Lines<T> {
        Lines {
            redactor: Redactor::default(),
            held: VecDeque::new(),
            held_bytes: 0,
        }
    }
}

impl<T> Lines<T> {
    /// A stream of the lines after these lines.
    pub fn after(before: &str) -> Lines<T> {
        Lines {
            redactor: Redactor::after(before),
            ..Lines::default()
        }
    }

    /// Takes the next line, including its newline. Passes on the lines that can be shown by now. A line of which
    /// nothing is left is not passed on.
    pub fn push(&mut self, tag: T, line: &str, out: &mut impl FnMut(T, &str)) {
        if self.redactor.open_key.is_some() {
            return give(&mut self.redactor, tag, line, out);
        }
        let place = pem::place(line);
        let last = self.held.back().map(|held| held.place);
        match (place, last) {
            (BodyPart::Full, None | Some(BodyPart::Full))
            | (BodyPart::Short, Some(BodyPart::Full)) => {
                self.hold(tag, line, place, out);
            }
            (BodyPart::Full, Some(_)) => {
                self.release(out);
                self.hold(tag, line, place, out);
            }
            (BodyPart::End, _) => {
                self.drop_body();
                give(&mut self.redactor, tag, line, out);
            }
            (BodyPart::Short | BodyPart::Elsewhere, _) => {
                self.release(out);
                give(&mut self.redactor, tag, line, out);
            }
        }
    }

    /// Whether lines are held back because they may be the beginning of a secret.
    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Passes on the lines that are held back.
    pub fn release(&mut self, out: &mut impl FnMut(T, &str)) {
        for held in self.held.drain(..) {
            give(&mut self.redactor, held.tag, &held.text, out);
        }
        self.held_bytes = 0;
    }

    /// What can be shown of a line that is not complete yet.
    pub fn unfinished<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.unfinished(text)
    }

    fn hold(&mut self, tag: T, line: &str, place: BodyPart, out: &mut impl FnMut(T, &str)) {
        self.held_bytes += line.len();
        self.held.push_back(HeldLine {
            tag,
            text: line.to_owned(),
            place,
        });
        while self.held.len() > MAX_HELD_LINES || self.held_bytes > MAX_HELD_BYTES {
            let Some(first) = self.held.pop_front() else {
                return;
            };
            self.held_bytes -= first.text.len();
            give(&mut self.redactor, first.tag, &first.text, out);
        }
    }

    fn drop_body(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
    }
}

impl Redactor {
    /// Redacts a part of a stream whose last line may be incomplete. That line is shown as it is if it contains no
    /// keyword of a rule.
    pub fn part(mut self, text: &str) -> String {
        let end = memrchr(b'\n', text.as_bytes()).map_or(0, |at| at + 1);
        let (lines, rest) = text.split_at(end);
        let mut shown = self.redact(lines).into_owned();
        match Keywords::get().first_in(rest, 0) {
            None if self.open_key.is_none() => shown.push_str(rest),
            _ => shown.push_str(&self.unfinished(rest)),
        }
        shown
    }

    /// What can be shown of a line that is not complete yet. A last word that may go on and may be the beginning of a
    /// secret is left out.
    fn unfinished<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.open_key.is_some() || text.contains("PRIVATE KEY") {
            true => Cow::Borrowed(""),
            false => redact(whole_words(text)),
        }
    }
}

fn give<T>(redactor: &mut Redactor, tag: T, line: &str, out: &mut impl FnMut(T, &str)) {
    let text = redactor.redact(line);
    if !text.is_empty() {
        out(tag, &text);
    }
}

/// The text without a last word that may be incomplete. A question such as `Password:` is complete, unless it stands
/// where the value of a secret would.
fn whole_words(text: &str) -> &str {
    let start = text
        .rfind(char::is_whitespace)
        .map_or(0, |at| text.ceil_char_boundary(at + 1));
    let (before, word) = text.split_at(start);
    let name = word.trim_end_matches([':', '?', '>', '$', '#', '%', ')', ']']);
    let keywords = Keywords::get();
    let is_harmless = keywords.first_in(word, 0).is_none()
        || name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let is_question =
        name.len() < word.len() && keywords.first_in(before, 0).is_none() && is_harmless;
    match is_question {
        true => text,
        false => before,
    }
}
