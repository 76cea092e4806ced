//! The text view of an output that is still being written: each line as soon as it is finished.
//!
//! ```text
//! finished line ─▶ redaction, if requested ─▶ teller ─▶ printed
//! unfinished line, after a pause ──────────────┘
//! ```
//!
//! An unfinished line may be a question that waits for its answer. So a line that does not change for a
//! moment is printed too. What follows then prints only the rest, or, if the line was overwritten, the
//! whole line on a new line. A progress bar that moves more slowly than that moment would be printed
//! again and again. So each printed state that is overwritten doubles the pause that this line needs.
//!
//! Memory is bounded by the length of a line.

use super::decode::Decoder;
use super::line::Shown;
use super::{Options, Page};
use crate::redact;
use memchr::memchr;
use std::time::Duration;

/// Longer than the time between two writes of one line, and short for a person.
const STILL: Duration = Duration::from_millis(150);

/// The longest pause: a question after a slow progress bar is seen within this time.
const LONGEST_STILL: Duration = Duration::from_secs(10);

/// A view of new output. A reader sees the returned texts one after the other.
#[derive(Debug)]
pub struct Live {
    decoder: Decoder,
    page: Page,
    desk: Desk,
    /// Where reading began.
    origin: u64,
    /// How far the output has been read.
    position: u64,
    patience: Duration,
    /// Whether nothing came since the last call of [`Live::still`].
    is_seen: bool,
}

/// Some text, and the output offset at which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownText<'a> {
    /// Where it begins in the output.
    pub from_byte: u64,
    /// The text.
    pub text: &'a str,
}

impl Live {
    /// Creates a view for an output that is read from this byte on.
    #[must_use]
    pub fn new(line_limit: usize, from_byte: u64) -> Live {
        let options = Options {
            budget: usize::MAX,
            line_limit,
        };
        Live {
            decoder: Decoder::default(),
            page: Page::new(options.effective_line_limit()),
            desk: Desk {
                line_from: from_byte,
                text: String::new(),
                redaction: None,
                teller: Teller::default(),
            },
            origin: from_byte,
            position: from_byte,
            patience: STILL,
            is_seen: true,
        }
    }

    /// Removes credentials from the text. `before` is the text of the lines before the start.
    #[must_use]
    pub fn redacted(mut self, before: &str) -> Live {
        self.desk.redaction = Some(redact::Lines::after(before));
        self
    }

    /// Takes more of the output, and says what can be said.
    pub fn push(&mut self, bytes: &[u8], said: &mut dyn FnMut(ShownText<'_>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let newline = memchr(b'\n', rest);
            let (line, after) = rest.split_at(newline.map_or(rest.len(), |at| at + 1));
            self.position += line.len() as u64;
            let Live {
                decoder,
                page,
                desk,
                ..
            } = self;
            let mut settled = |line: &Shown<'_>, end: &str| desk.put(line, end, said);
            decoder.push(line, &mut |act| page.apply(act, &mut settled));
            // A newline always ends a line, whatever state the decoder is in, and nothing else does.
            if newline.is_some() {
                self.desk.line_from = self.position;
                self.patience = STILL;
            }
            rest = after;
        }
        self.is_seen = false;
    }

    /// How long to wait without input before calling [`Live::still`]; `None` if it would print nothing.
    pub fn patience(&mut self) -> Option<Duration> {
        let waits = !self.is_seen && (self.desk.holds_lines() || self.has_news());
        waits.then_some(self.patience)
    }

    fn has_news(&mut self) -> bool {
        let Live { page, desk, .. } = self;
        unfinished(page).is_some_and(|text| text != desk.teller.begun)
    }

    /// Called after a pause: prints the unfinished line.
    pub fn still(&mut self, said: &mut dyn FnMut(ShownText<'_>)) {
        self.is_seen = true;
        let Live { page, desk, .. } = self;
        desk.release(said);
        let Some(text) = unfinished(page) else {
            return;
        };
        match desk.begin(text, self.position, said) {
            Telling::Nothing => {}
            Telling::GoesOn => page.startup.drop_withheld(),
            Telling::Anew => self.patience = (self.patience * 2).min(LONGEST_STILL),
        }
    }

    /// The next range is missing. Prints what came before it, even an incomplete line.
    pub fn missing(&mut self, to: u64, said: &mut dyn FnMut(ShownText<'_>)) {
        self.flush(said);
        self.page.startup.drop_withheld();
        self.desk.forget();
        self.position = to;
        self.desk.line_from = to;
        self.patience = STILL;
        self.is_seen = true;
    }

    /// No more output will come.
    pub fn finish(mut self, said: &mut dyn FnMut(ShownText<'_>)) {
        self.flush(said);
        // What is left now is the start-up noise from the beginning.
        self.desk.line_from = self.origin;
        let Live { page, desk, .. } = &mut self;
        page.finish(&mut |line, end| desk.put(line, end, said));
        desk.release(said);
    }

    fn flush(&mut self, said: &mut dyn FnMut(ShownText<'_>)) {
        let Live {
            decoder,
            page,
            desk,
            ..
        } = self;
        let mut settled = |line: &Shown<'_>, end: &str| desk.put(line, end, said);
        std::mem::take(decoder).finish(&mut |act| page.apply(act, &mut settled));
        page.settle_rest(&mut settled);
        desk.release(said);
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.page.line.held() + self.desk.text.capacity() + self.desk.teller.begun.capacity()
    }
}

/// The unfinished line, if it should be shown. A line that is too long is not a question, and would be
/// printed again whenever it grows.
fn unfinished(page: &mut Page) -> Option<&str> {
    let Page { line, startup } = page;
    let shown = line.shown();
    let is_told = shown.shortened_from.is_none()
        && !shown.text.is_empty()
        && !startup.would_withhold(shown.text);
    is_told.then_some(shown.text)
}

/// Passes on lines that are complete.
#[derive(Debug)]
struct Desk {
    /// The offset of the current line.
    line_from: u64,
    /// The current line with its end; kept to reuse its memory.
    text: String,
    redaction: Option<redact::Lines<u64>>,
    teller: Teller,
}

impl Desk {
    fn put(&mut self, line: &Shown<'_>, end: &str, said: &mut dyn FnMut(ShownText<'_>)) {
        self.text.clear();
        self.text.push_str(line.text);
        self.text.push_str(end);
        let teller = &mut self.teller;
        match &mut self.redaction {
            None => teller.say(self.line_from, &self.text, said),
            Some(redaction) => redaction.push(self.line_from, &self.text, &mut |from, text| {
                teller.say(from, text, said);
            }),
        }
    }

    fn begin(
        &mut self,
        unfinished: &str,
        position: u64,
        said: &mut dyn FnMut(ShownText<'_>),
    ) -> Telling {
        match &self.redaction {
            None => self
                .teller
                .begin(self.line_from, unfinished, position, said),
            Some(redaction) => {
                let text = redaction.unfinished(unfinished);
                self.teller.begin(self.line_from, &text, position, said)
            }
        }
    }

    fn holds_lines(&self) -> bool {
        self.redaction
            .as_ref()
            .is_some_and(redact::Lines::holds_any)
    }

    fn release(&mut self, said: &mut dyn FnMut(ShownText<'_>)) {
        let teller = &mut self.teller;
        if let Some(redaction) = &mut self.redaction {
            redaction.release(&mut |from, text| teller.say(from, text, said));
        }
    }

    /// Forgets everything: what comes next does not continue what came before.
    fn forget(&mut self) {
        self.teller.begun.clear();
        if let Some(redaction) = &mut self.redaction {
            *redaction = redact::Lines::default();
        }
    }
}

/// Prints everything once.
#[derive(Debug, Default)]
struct Teller {
    /// The part of a line that was printed before the line was finished; empty if none was.
    begun: String,
    /// The end of the output at that time.
    until: u64,
    /// The text to print when it has to be composed; kept to reuse its memory.
    composed: String,
}

/// How an unfinished line was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Nothing,
    GoesOn,
    Anew,
}

impl Teller {
    /// Prints a complete line.
    fn say(&mut self, from_byte: u64, text: &str, said: &mut dyn FnMut(ShownText<'_>)) {
        if self.begun.is_empty() {
            said_unless_empty(from_byte, text, said);
            return;
        }
        self.go_on(from_byte, text, said);
        self.begun.clear();
    }

    /// Prints a line that may still grow.
    fn begin(
        &mut self,
        from_byte: u64,
        text: &str,
        position: u64,
        said: &mut dyn FnMut(ShownText<'_>),
    ) -> Telling {
        if text.is_empty() || self.has_said(text) {
            return Telling::Nothing;
        }
        let telling = match self.begun.is_empty() {
            true => {
                said_unless_empty(from_byte, text, said);
                Telling::GoesOn
            }
            false => self.go_on(from_byte, text, said),
        };
        self.begun.clear();
        self.begun.push_str(text);
        self.until = position;
        telling
    }

    fn go_on(
        &mut self,
        from_byte: u64,
        text: &str,
        said: &mut dyn FnMut(ShownText<'_>),
    ) -> Telling {
        if let Some(rest) = text.strip_prefix(&self.begun) {
            said_unless_empty(self.until, rest, said);
            return Telling::GoesOn;
        }
        let line = text.trim_end_matches('\n');
        if self.has_said(line) {
            said_unless_empty(self.until, &text[line.len()..], said);
            return Telling::GoesOn;
        }
        self.composed.clear();
        self.composed.push('\n');
        self.composed.push_str(text);
        said_unless_empty(from_byte, &self.composed, said);
        Telling::Anew
    }

    /// Blanks at the end are not shown any more once something was overwritten.
    fn has_said(&self, line: &str) -> bool {
        line == self.begun || line == self.begun.trim_end_matches(' ')
    }
}

fn said_unless_empty(from_byte: u64, text: &str, said: &mut dyn FnMut(ShownText<'_>)) {
    if !text.is_empty() {
        said(ShownText { from_byte, text });
    }
}
