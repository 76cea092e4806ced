//! The text view of a job's output: what every face that feeds a model shows.
//!
//! Raw bytes of a terminal or a pipe go in, in chunks cut anywhere; plain UTF-8
//! comes out, the same wherever the chunks were cut. Each step has its file:
//!
//! ```text
//! bytes ─▶ decode ─▶ line ─▶ startup ─┬▶ excerpt ─▶ text
//!          escapes   cursor  noise at │  first and last lines
//!          UTF-8     length  the front└▶ live ─▶ lines, as they come
//! ```
//!
//! [`View`] gives the whole, [`Live`] each line as soon as it is finished, [`line()`] one line by itself.
//!
//! Memory is bounded by the options and not by the input, so that gigabytes can
//! be pushed through: a line that is too long keeps its two ends, and so does
//! the whole.
//!
//! What it does not do: it is no terminal. Every character is one column wide,
//! there is only the line being written, and a sequence that would leave it (to
//! go up, to clear the screen) is dropped like a colour. `screen` shows what a
//! full-screen program drew.

mod decode;
mod excerpt;
mod line;
mod lines;
mod live;
mod startup;

#[cfg(test)]
mod tests;

pub(crate) use line::mark as left_out;
pub use lines::line;
pub(crate) use lines::lines;
pub use live::{Live, Said};

use decode::{Act, Decoder};
use excerpt::Excerpt;
use line::{Line, Shown};
use startup::Startup;

/// How much text is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of text. Below 512 a long line may not fit, and is left out.
    pub budget: usize,
    /// The most bytes of a line: taken as no more than a quarter of the budget, then as no less
    /// than 128.
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
    /// Below this, what says how much was left out would take the place of what could be shown.
    const SHORTEST_LINE: usize = 128;

    /// With this, the first and the last line always fit.
    fn effective_line_limit(&self) -> usize {
        self.line_limit
            .min(self.budget / 4)
            .max(Options::SHORTEST_LINE)
    }
}

/// The text, and what is not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewed {
    pub text: String,
    /// The length of the lines left out between head and tail, in bytes of text, newlines included.
    pub omitted_bytes: u64,
    pub omitted_lines: u64,
    /// The first line left out; what was pushed begins with line 1.
    pub omitted_from_line: Option<u64>,
    /// The lines in `text` that lack their middle.
    pub shortened_lines: u64,
}

/// A view in the making.
#[derive(Debug)]
pub struct View {
    decoder: Decoder,
    page: Page,
    excerpt: Excerpt,
}

impl View {
    #[must_use]
    pub fn new(options: Options) -> View {
        View {
            decoder: Decoder::default(),
            page: Page::new(options.effective_line_limit()),
            excerpt: Excerpt::new(options.budget),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let View {
            decoder,
            page,
            excerpt,
        } = self;
        let mut settled = |line: &Shown<'_>, end: &str| excerpt.push(line, end);
        decoder.push(bytes, &mut |act| page.apply(act, &mut settled));
    }

    /// An unfinished escape sequence is dropped, an unfinished line is shown.
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

/// What text goes to once it is decoded: the line being written, and what stood before all others.
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

    /// Nothing more will be written to the line.
    fn settle(&mut self, end: &str, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        let shown = self.line.shown();
        if !self.startup.withholds(&shown, end) {
            settled(&shown, end);
        }
    }

    /// The unfinished line, if there is one.
    fn settle_rest(&mut self, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        if !self.line.shown().text.is_empty() {
            self.settle("", settled);
        }
        self.line.clear();
    }

    fn finish(&mut self, settled: &mut impl FnMut(&Shown<'_>, &str)) {
        self.settle_rest(settled);
        // Noise with nothing after it is what the job had to say.
        for line in self.startup.withheld().split_inclusive('\n') {
            let text = line.trim_end_matches('\n');
            settled(&Shown::whole(text), &line[text.len()..]);
        }
    }
}
