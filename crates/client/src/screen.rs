//! Shows what a person would see on a job's terminal now, by emulating its output.

#[doc(hidden)]
pub mod interrupts;
#[doc(hidden)]
pub mod live;
mod scroll_region;
#[doc(hidden)]
pub mod terminal;

use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::output::{Output, Piece};
use crate::redact::redact;
use crate::screen::scroll_region::Region;
use outlive_api::log::{CursorPosition, Screen};
use outlive_core::{Input, JobId, Size, Spec, State};
use std::borrow::Cow;
use std::num::NonZeroU16;

/// The screen depends only on recent output. At most this much is emulated; programs that draw screens
/// repaint them far more often.
const MAX_EMULATED_BYTES: u64 = 64 * 1024 * 1024;

/// A terminal being emulated.
pub(crate) struct Emulation {
    parser: vt100::Parser,
    /// The output offset up to which bytes were fed to it.
    pub position: u64,
    region: Region,
}

/// A damaged record may name a screen size that would fill the memory.
fn side(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length.min(Size::MAX_SIDE)).unwrap_or(NonZeroU16::MIN)
}

impl Emulation {
    /// An empty terminal.
    pub fn sized(size: Size) -> Emulation {
        Emulation {
            parser: vt100::Parser::new(side(size.rows), side(size.cols), 0),
            position: 0,
            region: Region::default(),
        }
    }

    /// Feeds a job's output so far to a terminal of the job's size.
    pub fn of(outlive: &Outlive, spec: &Spec, state: &State) -> Result<Emulation, Error> {
        let Input::Pty(size) = spec.input else {
            return Err(Error::NoTerminal(spec.id.clone()));
        };
        let output = Output::open(outlive, spec, state)?;
        let mut emulation = Emulation::sized(size);
        emulation.position = output.size.saturating_sub(MAX_EMULATED_BYTES);
        for (offset, size) in &state.sizes {
            emulation.feed(outlive, &output, &spec.id, *offset)?;
            emulation.resize(*size);
        }
        emulation.feed(outlive, &output, &spec.id, output.size)?;
        Ok(emulation)
    }

    fn feed(
        &mut self,
        outlive: &Outlive,
        output: &Output,
        id: &JobId,
        until: u64,
    ) -> Result<(), Error> {
        for piece in output.pieces(self.position..until) {
            match piece.map_err(Error::io("cannot read", outlive.job_dir(id).output()))? {
                Piece::Bytes { at, bytes, .. } => {
                    self.take(&bytes);
                    self.position = at + bytes.len() as u64;
                }
                Piece::Missing(range) => self.position = range.end,
            }
        }
        Ok(())
    }

    pub fn take(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
        self.region.feed(bytes);
    }

    pub fn resize(&mut self, size: Size) {
        self.region.fit(size.rows);
        self.parser
            .screen_mut()
            .set_size(side(size.rows), side(size.cols));
    }

    /// The bytes that make a terminal of the same size show the same screen.
    pub fn repaint(&self) -> Vec<u8> {
        let screen = self.parser.screen();
        let enter: &[u8] = if screen.alternate_screen() {
            b"\x1b[?1049h"
        } else {
            b""
        };
        let region = self.region.restore(screen.cursor_position());
        [
            enter,
            screen.state_formatted().as_bytes(),
            region.as_bytes(),
        ]
        .concat()
    }

    /// Whether the program reads arrow keys in their application form.
    pub fn application_cursor(&self) -> bool {
        self.parser.screen().application_cursor()
    }

    /// Whether the program wants pasted text to be marked.
    pub fn bracketed_paste(&self) -> bool {
        self.parser.screen().bracketed_paste()
    }

    pub fn rows_text(&self) -> String {
        text(self.parser.screen(), Rows::AsWrapped)
    }

    /// The screen without secrets. The terminal may have wrapped a secret over several rows, so if
    /// there are any secrets, wrapped lines are joined.
    pub fn redacted_screen(&self, id: &JobId) -> Screen {
        let shown = self.screen(id);
        match redact(&text(self.parser.screen(), Rows::Joined)) {
            Cow::Borrowed(_) => shown,
            Cow::Owned(text) => Screen { text, ..shown },
        }
    }

    pub fn screen(&self, id: &JobId) -> Screen {
        let screen = self.parser.screen();
        let (rows, cols) = screen.size();
        let (row, col) = screen.cursor_position();
        Screen {
            id: id.clone(),
            text: self.rows_text(),
            rows: rows.get(),
            cols: cols.get(),
            cursor: CursorPosition {
                row,
                col,
                visible: !screen.hide_cursor(),
            },
            alternate: screen.alternate_screen(),
        }
    }
}

/// How a line that is longer than a row is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    AsWrapped,
    Joined,
}

/// The text of the rows, without the blanks at their ends and the empty rows at the bottom.
fn text(screen: &vt100::Screen, rows: Rows) -> String {
    let (_, cols) = screen.size();
    let mut text = String::new();
    for (number, row) in (0..).zip(screen.rows(0, cols.get())) {
        if rows == Rows::Joined && screen.row_wrapped(number) {
            text.push_str(&row);
        } else {
            text.push_str(row.trim_end());
            text.push('\n');
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: u16, cols: u16, bytes: &str) -> Screen {
        let mut emulation = Emulation::sized(Size { rows, cols });
        emulation.take(bytes.as_bytes());
        emulation.screen(&JobId::parse("x").expect("valid"))
    }

    #[test]
    fn a_damaged_record_with_a_huge_screen_does_not_fill_the_memory() {
        let screen = shown(u16::MAX, u16::MAX, "x");
        assert_eq!((screen.rows, screen.cols), (1000, 1000));
    }

    #[test]
    fn a_secret_that_is_wrapped_over_rows_is_redacted() {
        let redacted = |bytes: &str| {
            let mut emulation = Emulation::sized(Size { rows: 8, cols: 20 });
            emulation.take(bytes.as_bytes());
            let id = JobId::parse("x").expect("valid");
            emulation.redacted_screen(&id).text
        };
        let secret = "before\r\nAPI_TOKEN=abcdefghijklmnopqrstuvwxyz0123456789\r\nafter";
        assert_eq!(
            redacted(secret),
            "before\nAPI_TOKEN=[redacted:token]\nafter"
        );
        // Without secrets, the rows stay as they are.
        assert_eq!(
            redacted("0123456789abcdefghijkl"),
            "0123456789abcdefghij\nkl"
        );
    }

    #[test]
    fn the_screen_shows_what_a_person_would_see() {
        for (bytes, text, row, col) in [
            ("one\r\ntwo", "one\ntwo", 1, 3),
            ("0123456789abc", "0123456789\nabc", 1, 3),
            ("日本\x08\x08x", "日x", 0, 3),
            ("old\x1b[2J\x1b[Hnew", "new", 0, 3),
            ("50%\r100%", "100%", 0, 4),
            ("shell\x1b[?1049h\x1b[Heditor", "editor", 0, 6),
            ("shell\x1b[?1049heditor\x1b[?1049l", "shell", 0, 5),
            ("日本", "日本", 0, 4),
            ("a\x1b[31mred\x1b[0m", "ared", 0, 4),
        ] {
            let screen = shown(3, 10, bytes);
            assert_eq!(
                (screen.text.as_str(), screen.cursor.row, screen.cursor.col),
                (text, row, col),
                "{bytes:?}"
            );
        }
    }
}
