//! The text view of an output that is still being written: each line as soon as it is finished.
//!
//! ```text
//! finished line ─▶ redaction, if asked for ─▶ teller ─▶ said
//! unfinished line, once it has been still ─────┘
//! ```
//!
//! An unfinished line may be a question that waits for its answer, so one that
//! stays as it is for a moment is said too. What follows it then says only the
//! rest, or, if the line was written anew, all of it on a new line. A progress
//! bar that moves more slowly than that moment would be said over and over, so
//! each state that is written over doubles what counts as still for its line.
//!
//! Memory is bounded as in the whole view: by the length of a line.

use super::decode::Decoder;
use super::line::Shown;
use super::{Options, Page};
use crate::redact;
use memchr::memchr;
use std::time::Duration;

/// Longer than a program takes between two writes of one line, and short to a person.
const STILL: Duration = Duration::from_millis(150);

/// A question that is asked where a slow bar was is seen within this.
const LONGEST_STILL: Duration = Duration::from_secs(10);

/// A view of what comes. The texts it says, one after the other, are what a reader is to see.
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
    /// Whether nothing came since the last [`Live::still`].
    is_seen: bool,
}

/// Some text, and where the output it shows begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said<'a> {
    pub from_byte: u64,
    pub text: &'a str,
}

impl Live {
    /// For an output that is read from this byte on.
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

    /// Says it without what looks like a credential; `before` are the lines that came before it.
    #[must_use]
    pub fn redacted(mut self, before: &str) -> Live {
        self.desk.redaction = Some(redact::Lines::after(before));
        self
    }

    pub fn push(&mut self, bytes: &[u8], said: &mut dyn FnMut(Said<'_>)) {
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
            // A newline ends a line whatever state the decoder is in, and nothing else does.
            if newline.is_some() {
                self.desk.line_from = self.position;
                self.patience = STILL;
            }
            rest = after;
        }
        self.is_seen = false;
    }

    /// How long nothing may come until [`Live::still`] has something to say; `None` when it has not.
    pub fn patience(&mut self) -> Option<Duration> {
        let waits = !self.is_seen && (self.desk.holds_lines() || self.has_news());
        waits.then_some(self.patience)
    }

    fn has_news(&mut self) -> bool {
        let Live { page, desk, .. } = self;
        unfinished(page).is_some_and(|text| text != desk.teller.begun)
    }

    /// Nothing came for a while: says what there is of an unfinished line.
    pub fn still(&mut self, said: &mut dyn FnMut(Said<'_>)) {
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

    /// What follows here was not kept. What came before it is said, up to the middle of a line.
    pub fn missing(&mut self, to: u64, said: &mut dyn FnMut(Said<'_>)) {
        self.flush(said);
        self.page.startup.drop_withheld();
        self.desk.forget();
        self.position = to;
        self.desk.line_from = to;
        self.patience = STILL;
        self.is_seen = true;
    }

    /// There is no more to come.
    pub fn finish(mut self, said: &mut dyn FnMut(Said<'_>)) {
        self.flush(said);
        // What is left then is what stood before all else.
        self.desk.line_from = self.origin;
        let Live { page, desk, .. } = &mut self;
        page.finish(&mut |line, end| desk.put(line, end, said));
        desk.release(said);
    }

    fn flush(&mut self, said: &mut dyn FnMut(Said<'_>)) {
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

/// The unfinished line, if it is one to show. One that is too long is no question, and would be said
/// anew whenever it grows.
fn unfinished(page: &mut Page) -> Option<&str> {
    let Page { line, startup } = page;
    let shown = line.shown();
    let is_told = shown.shortened_from.is_none()
        && !shown.text.is_empty()
        && !startup.would_withhold(shown.text);
    is_told.then_some(shown.text)
}

/// Where lines go once they are settled.
#[derive(Debug)]
struct Desk {
    /// Where the line being written begins.
    line_from: u64,
    /// The line that is dealt with, with its end; kept for its memory.
    text: String,
    redaction: Option<redact::Lines<u64>>,
    teller: Teller,
}

impl Desk {
    fn put(&mut self, line: &Shown<'_>, end: &str, said: &mut dyn FnMut(Said<'_>)) {
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
        said: &mut dyn FnMut(Said<'_>),
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

    fn release(&mut self, said: &mut dyn FnMut(Said<'_>)) {
        let teller = &mut self.teller;
        if let Some(redaction) = &mut self.redaction {
            redaction.release(&mut |from, text| teller.say(from, text, said));
        }
    }

    /// What comes has nothing to do with what came.
    fn forget(&mut self) {
        self.teller.begun.clear();
        if let Some(redaction) = &mut self.redaction {
            *redaction = redact::Lines::default();
        }
    }
}

/// Says everything once.
#[derive(Debug, Default)]
struct Teller {
    /// What was said of a line before it was finished; empty when nothing was.
    begun: String,
    /// How far the output had come then.
    until: u64,
    /// What is said now, when it has to be put together; kept for its memory.
    composed: String,
}

/// How an unfinished line was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Nothing,
    GoesOn,
    Anew,
}

impl Teller {
    /// Says a line that is settled.
    fn say(&mut self, from_byte: u64, text: &str, said: &mut dyn FnMut(Said<'_>)) {
        if self.begun.is_empty() {
            said_unless_empty(from_byte, text, said);
            return;
        }
        self.go_on(from_byte, text, said);
        self.begun.clear();
    }

    /// Says a line of which more may come.
    fn begin(
        &mut self,
        from_byte: u64,
        text: &str,
        position: u64,
        said: &mut dyn FnMut(Said<'_>),
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

    fn go_on(&mut self, from_byte: u64, text: &str, said: &mut dyn FnMut(Said<'_>)) -> Telling {
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

    /// Blanks at the end are no longer shown once something was written over.
    fn has_said(&self, line: &str) -> bool {
        line == self.begun || line == self.begun.trim_end_matches(' ')
    }
}

fn said_unless_empty(from_byte: u64, text: &str, said: &mut dyn FnMut(Said<'_>)) {
    if !text.is_empty() {
        said(Said { from_byte, text });
    }
}
