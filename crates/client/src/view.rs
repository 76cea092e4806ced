//! The text view of a job's output, which every interface for language models shows.
//!
//! The raw bytes of a terminal or a pipe go in, in chunks of any size. Plain UTF-8 comes out, and it
//! does not depend on how the bytes were cut into chunks. Each step has its file:
//!
//! ```text
//! bytes ─▶ decode ─▶ line ─▶ startup ─┬▶ excerpt ─▶ text
//!          escapes   cursor  noise at │  first and last lines
//!          UTF-8     length  the start└▶ live ─▶ lines, as they come
//! ```
//!
//! [`View`] returns the whole text, [`Live`] each line as soon as it is finished, [`line()`] a single
//! line.
//!
//! Memory is bounded by the options and not by the input, so gigabytes can pass through: a line that is
//! too long keeps its two ends, and so does the whole text.
//!
//! It is not a terminal emulator. Every character is one column wide, and only the current line exists.
//! A sequence that would leave the line (move up, clear the screen) is dropped like a colour. `screen`
//! shows what a full-screen program drew.

mod decode;
mod excerpt;
mod line;
mod lines;
mod live;
mod origins;
mod startup;
mod styled;

#[cfg(test)]
mod tests;

pub(crate) use line::mark as left_out;
pub use lines::line;
pub(crate) use lines::lines;
pub use live::{Live, ShownText};
pub use origins::Origins;
pub use styled::{Colour, Style, StyledLine, styled};

use decode::{Act, Decoder};
use excerpt::Excerpt;
use line::{Line, Shown};
use startup::Startup;

/// How much text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of text. Below 512, a long line may not fit and is then left out.
    pub budget: usize,
    /// The most bytes of a line. At most a quarter of the budget is used, and at least 128 bytes.
    pub line_limit: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            budget: 32 * 1024,
            line_limit: 2048,
        }
    }
}

impl Options {
    /// In a shorter line, the note about the omitted bytes would take the place of the text.
    const SHORTEST_LINE: usize = 128;

    /// With this limit, the first and the last line always fit.
    fn effective_line_limit(&self) -> usize {
        self.line_limit
            .min(self.budget / 4)
            .max(Options::SHORTEST_LINE)
    }
}

/// The text, and what was left out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewed {
    /// The text.
    pub text: String,
    /// The total length of the lines left out between head and tail, in bytes of text with newlines.
    pub omitted_bytes: u64,
    /// How many lines a budget left out.
    pub omitted_lines: u64,
    /// The number of the first line left out. The input begins with line 1.
    pub omitted_from_line: Option<u64>,
    /// How many lines in `text` lack their middle.
    pub shortened_lines: u64,
}

/// A view in progress.
#[derive(Debug)]
pub struct View {
    decoder: Decoder,
    page: Page,
    excerpt: Excerpt,
}

impl View {
    /// A view that has seen nothing yet.
    #[must_use]
    pub fn new(options: Options) -> View {
        View {
            decoder: Decoder::default(),
            page: Page::new(options.effective_line_limit()),
            excerpt: Excerpt::new(options.budget),
        }
    }

    /// Takes more of the output.
    pub fn push(&mut self, bytes: &[u8]) {
        let View {
            decoder,
            page,
            excerpt,
        } = self;
        let mut settled = |line: &Shown<'_>, end: &str| excerpt.push(line, end);
        decoder.push(bytes, &mut |act| page.apply(act, &mut settled));
    }

    /// Ends the input. An unfinished escape sequence is dropped; an unfinished line is shown.
    #[must_use]
    pub fn finish(self) -> Viewed {
        let View {
            decoder,
            mut page,
            mut excerpt,
        } = self;
        let mut settled = |line: &Shown<'_>, end: &str| excerpt.push(line, end);
        decoder.finish(&mut |act| page.apply(act, &mut settled));
        page.finish(&mut settled);
        excerpt.finish(page.startup.dropped_lines() + 1)
    }
}

/// Where decoded text goes: the current line, and the start-up noise before all other lines.
#[derive(Debug)]
struct Page {
    line: Line,
    startup: Startup,
}

impl Page {
    fn new(line_limit: usize) -> Page {
        Page {
            line: Line::new(line_limit),
            startup: Startup::default(),
        }
    }

    fn apply(&mut self, act: Act<'_>, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        match act {
            Act::Text(text) => self.line.write(text),
            Act::LineEnd => {
                self.settle("\n", settled);
                self.line.clear();
            }
            Act::Left(count) => self.line.left(count),
            Act::Right(count) => self.line.right(count),
            Act::ToColumn(column) => self.line.go_to(column),
            Act::Erase(part) => self.line.erase(part),
        }
    }

    /// The line is complete.
    fn settle(&mut self, end: &str, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        let shown = self.line.shown();
        if !self.startup.withholds(&shown, end) {
            settled(&shown, end);
        }
    }

    /// Settles the unfinished line, if there is one.
    fn settle_rest(&mut self, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        if !self.line.shown().text.is_empty() {
            self.settle("", settled);
        }
        self.line.clear();
    }

    fn finish(&mut self, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        self.settle_rest(settled);
        // If nothing follows the noise, it is the job's real output.
        for line in self.startup.withheld().split_inclusive('\n') {
            let text = line.trim_end_matches('\n');
            settled(&Shown::whole(text), &line[text.len()..]);
        }
    }
}
