//! A terminal that is watched: its screen, and then what changes on it.
//!
//! The bytes of the job are read at any speed, and each update says how the screen differs from the last update. So a
//! slow viewer misses steps in between and is never behind.

use super::{Emulation, MAX_EMULATED_BYTES};
use crate::error::Error;
use crate::home::outlive::Outlive;
use crate::jobs::presence;
use crate::listening::Wanted;
use crate::output::Output;
use crate::redact;
use crate::view::{Colour, Style};
use outlive_api::log::CursorPosition;
use outlive_core::{Input, JobId, Size, Spec};

/// So much is read in one step, which takes some ten milliseconds.
const STEP: u64 = 1024 * 1024;

/// What stands in the place of each character of a secret.
const MASK: char = '█';

/// A screen that is watched.
pub struct LiveScreen {
    outlive: Outlive,
    spec: Spec,
    emulation: Emulation,
    /// How many changes of the size were applied.
    resized: usize,
    shown: Option<ScreenState>,
}

impl std::fmt::Debug for LiveScreen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveScreen")
            .field("job", &self.spec.id)
            .field("position", &self.emulation.position)
            .finish_non_exhaustive()
    }
}

/// How far a screen has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// There is more to read now.
    pub has_more: bool,
    /// The job has ended, and this is its last screen.
    pub has_ended: bool,
    /// The news that bring more.
    pub wanted: Wanted,
}

/// What programs ask of the keyboard and the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Arrow keys are sent in their application form.
    pub application_cursor: bool,
    /// Pasted text is marked.
    pub bracketed_paste: bool,
    /// Which movements of the mouse are sent: 0 none, 1 presses, 2 also releases, 3 also dragging, 4 all.
    pub mouse: u8,
    /// The mouse is reported in the form of SGR.
    pub sgr_mouse: bool,
}

/// Text of one look on a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// How many cells it takes.
    pub cells: u16,
    /// Its look.
    pub style: Style,
}

/// How a screen looks, or how it differs from the last update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenUpdate {
    /// The size.
    pub size: Size,
    /// The cursor.
    pub cursor: CursorPosition,
    /// A full-screen program has the screen.
    pub alternate: bool,
    /// What keys and the mouse send.
    pub modes: Modes,
    /// The rows that changed, counted from 0. Blanks at their ends are left out.
    pub rows: Vec<(u16, Vec<Span>)>,
}

/// What an update is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScreenState {
    size: Size,
    cursor: CursorPosition,
    alternate: bool,
    modes: Modes,
    rows: Vec<Vec<Span>>,
}

impl LiveScreen {
    /// The screen of a job with a terminal. Nothing is read yet.
    pub fn open(outlive: &Outlive, id: &JobId) -> Result<LiveScreen, Error> {
        let spec = outlive.read_spec(id)?;
        let Input::Pty(size) = spec.input else {
            return Err(Error::NoTerminal(spec.id));
        };
        Ok(LiveScreen {
            outlive: outlive.clone(),
            spec,
            emulation: Emulation::sized(size),
            resized: 0,
            shown: None,
        })
    }

    /// Reads what there is, at most a part of it.
    pub fn advance(&mut self) -> Result<Progress, Error> {
        let LiveScreen {
            outlive,
            spec,
            emulation,
            ..
        } = self;
        // Read the state before the output: once the state shows the end, all output is in the file.
        let (_, state) = presence::meet(outlive, &spec.id)?;
        let output = Output::open(outlive, spec, &state)?;
        if output.size > emulation.position + MAX_EMULATED_BYTES {
            emulation.position = output.size - MAX_EMULATED_BYTES;
        }
        let until = output.size.min(emulation.position + STEP);
        while let Some((offset, size)) = state.sizes.get(self.resized) {
            if *offset > until {
                break;
            }
            emulation.feed(outlive, &output, &spec.id, *offset)?;
            emulation.resize(*size);
            self.resized += 1;
        }
        emulation.feed(outlive, &output, &spec.id, until)?;
        let has_more = emulation.position < output.size;
        Ok(Progress {
            has_more,
            has_ended: !has_more && state.end().is_some(),
            wanted: Wanted {
                output: Some(emulation.position),
                ..Wanted::events_after(state.seq)
            },
        })
    }

    /// Whether there was no update yet.
    pub fn is_new(&self) -> bool {
        self.shown.is_none()
    }

    /// How the screen differs from the last update; `None` if it does not. The first update has everything.
    pub fn update(&mut self) -> Option<ScreenUpdate> {
        let now = self.state();
        if self.shown.as_ref() == Some(&now) {
            return None;
        }
        let same_rows = self.shown.take().filter(|before| before.size == now.size);
        let before = same_rows.map(|before| before.rows).unwrap_or_default();
        let rows = now.rows.iter().enumerate();
        let changed = rows.filter(|(number, row)| before.get(*number) != Some(row));
        let update = ScreenUpdate {
            size: now.size,
            cursor: now.cursor,
            alternate: now.alternate,
            modes: now.modes,
            rows: changed
                .map(|(number, row)| (number as u16, row.clone()))
                .collect(),
        };
        self.shown = Some(now);
        Some(update)
    }

    fn state(&self) -> ScreenState {
        let screen = self.emulation.parser.screen();
        let (rows, cols) = screen.size();
        let (row, col) = screen.cursor_position();
        let hidden = match self.outlive.shows_secrets() {
            true => Vec::new(),
            false => secret_cells(screen),
        };
        let spans = |number: u16| {
            let hidden = hidden.get(usize::from(number));
            spans(screen, number, cols.get(), hidden.map(Vec::as_slice))
        };
        ScreenState {
            size: Size {
                rows: rows.get(),
                cols: cols.get(),
            },
            cursor: CursorPosition {
                row,
                col: col.min(cols.get() - 1),
                visible: !screen.hide_cursor(),
            },
            alternate: screen.alternate_screen(),
            modes: modes(screen),
            rows: (0..rows.get()).map(spans).collect(),
        }
    }
}

fn modes(screen: &vt100::Screen) -> Modes {
    use vt100::{MouseProtocolEncoding, MouseProtocolMode};
    Modes {
        application_cursor: screen.application_cursor(),
        bracketed_paste: screen.bracketed_paste(),
        mouse: match screen.mouse_protocol_mode() {
            MouseProtocolMode::None => 0,
            MouseProtocolMode::Press => 1,
            MouseProtocolMode::PressRelease => 2,
            MouseProtocolMode::ButtonMotion => 3,
            MouseProtocolMode::AnyMotion => 4,
        },
        sgr_mouse: screen.mouse_protocol_encoding() == MouseProtocolEncoding::Sgr,
    }
}

/// The spans of one row. Characters that are not ASCII stand apart, because fonts give them other widths.
fn spans(screen: &vt100::Screen, row: u16, cols: u16, hidden: Option<&[bool]>) -> Vec<Span> {
    let mut spans: Vec<(Kind, Span)> = Vec::new();
    for col in 0..cols {
        let Some(cell) = screen.cell(row, col) else {
            break;
        };
        if cell.is_wide_continuation() {
            continue;
        }
        let is_hidden = hidden.is_some_and(|hidden| hidden.get(usize::from(col)) == Some(&true));
        let text = match (is_hidden, cell.has_contents()) {
            (true, _) => MASK.to_string(),
            (false, true) => cell.contents().to_owned(),
            (false, false) => " ".to_owned(),
        };
        let cells = 1 + u16::from(cell.is_wide());
        let kind = match (cells, text.is_ascii()) {
            (2, _) => Kind::Wide,
            (_, true) => Kind::Ascii,
            (_, false) => Kind::Other,
        };
        let style = style(cell);
        match spans.last_mut() {
            Some((same, span)) if *same == kind && kind != Kind::Wide && span.style == style => {
                span.text.push_str(&text);
                span.cells += cells;
            }
            _ => spans.push((kind, Span { text, cells, style })),
        }
    }
    let mut spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
    if let Some(last) = spans.last_mut()
        && last.style == Style::default()
        && last.text.is_ascii()
    {
        last.text.truncate(last.text.trim_end_matches(' ').len());
        last.cells = last.text.len() as u16;
    }
    spans.retain(|span| span.cells > 0);
    spans
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ascii,
    Other,
    Wide,
}

fn style(cell: &vt100::Cell) -> Style {
    let flags = [
        (cell.bold(), Style::BOLD),
        (cell.dim(), Style::DIM),
        (cell.italic(), Style::ITALIC),
        (cell.underline(), Style::UNDERLINE),
        (cell.inverse(), Style::INVERSE),
    ];
    Style {
        foreground: colour(cell.fgcolor()),
        background: colour(cell.bgcolor()),
        flags: flags
            .iter()
            .filter(|(on, _)| *on)
            .map(|(_, flag)| flag)
            .sum(),
    }
}

fn colour(colour: vt100::Color) -> Colour {
    match colour {
        vt100::Color::Default => Colour::Default,
        vt100::Color::Idx(number) => Colour::Indexed(number),
        vt100::Color::Rgb(red, green, blue) => Colour::Rgb(red, green, blue),
    }
}

/// Which cells of each row show a secret. The terminal may have wrapped it over several rows.
fn secret_cells(screen: &vt100::Screen) -> Vec<Vec<bool>> {
    let (rows, cols) = screen.size();
    let mut hidden = vec![vec![false; usize::from(cols.get())]; usize::from(rows.get())];
    let mut redaction = redact::Lines::default();
    let mut lines: Vec<(String, Vec<(u16, u16)>)> = Vec::new();
    let mut goes_on = false;
    for row in 0..rows.get() {
        if !goes_on {
            lines.push((String::new(), Vec::new()));
        }
        if let Some((text, places)) = lines.last_mut() {
            for col in 0..cols.get() {
                let Some(cell) = screen
                    .cell(row, col)
                    .filter(|cell| !cell.is_wide_continuation())
                else {
                    continue;
                };
                let contents = if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                };
                text.push_str(contents);
                places.extend(std::iter::repeat_n((row, col), contents.len()));
            }
        }
        goes_on = screen.row_wrapped(row);
    }
    let mut left: Vec<Option<String>> = vec![None; lines.len()];
    let mut keep = |place: usize, text: &str| left[place] = Some(text.to_owned());
    for (place, (text, _)) in lines.iter().enumerate() {
        redaction.push(place, &format!("{}\n", text.trim_end()), &mut keep);
    }
    redaction.release(&mut keep);
    for ((text, places), left) in lines.iter().zip(left) {
        let text = text.trim_end();
        let left = left.unwrap_or_default();
        let left = left.strip_suffix('\n').unwrap_or(&left);
        if text == left {
            continue;
        }
        let pairs = || text.bytes().zip(left.bytes());
        let before = pairs().take_while(|(a, b)| a == b).count();
        let ends = text.bytes().rev().zip(left.bytes().rev());
        let after = ends.take_while(|(a, b)| a == b).count();
        let end = text.len().saturating_sub(after).max(before);
        for (row, col) in &places[before..end] {
            hidden[usize::from(*row)][usize::from(*col)] = true;
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parser(rows: u16, cols: u16, bytes: &str) -> vt100::Parser {
        let side = |side| super::super::side(side);
        let mut parser = vt100::Parser::new(side(rows), side(cols), 0);
        parser.process(bytes.as_bytes());
        parser
    }

    fn texts(spans: &[Span]) -> Vec<(&str, u16)> {
        spans
            .iter()
            .map(|span| (span.text.as_str(), span.cells))
            .collect()
    }

    #[test]
    fn a_row_is_cut_where_its_look_or_its_widths_change() {
        let parser = parser(2, 20, "ab\x1b[31mcd\x1b[m日本é x");
        let row = spans(parser.screen(), 0, 20, None);
        assert_eq!(
            texts(&row),
            [
                ("ab", 2),
                ("cd", 2),
                ("日", 2),
                ("本", 2),
                ("é", 1),
                (" x", 2)
            ]
        );
        assert_eq!(row[1].style.foreground, Colour::Indexed(1));
        assert_eq!(spans(parser.screen(), 1, 20, None), []);
    }

    #[test]
    fn a_secret_is_masked_cell_by_cell_also_where_it_wraps() {
        let parser = parser(4, 20, "x API_TOKEN=abcdefghijklmnopqrstuvwxyz0123456789 y");
        let hidden = secret_cells(parser.screen());
        let shown: Vec<String> = (0..3)
            .map(|row| {
                let row = spans(parser.screen(), row, 20, Some(&hidden[usize::from(row)]));
                row.iter().map(|span| span.text.as_str()).collect()
            })
            .collect();
        let all = shown.join("|");
        assert!(all.starts_with("x API_TOKEN=█"), "{all}");
        assert!(all.ends_with(" y") && !all.contains("0123"), "{all}");
        assert_eq!(
            secret_cells(self::parser(2, 20, "nothing").screen())[0],
            [false; 20]
        );
    }
}
