//! What a page shows of an output: `GET /v1/jobs/{job}/lines`, any lines with their colours, and `POST /v1/search`, a
//! search that says how far it is and ends when its caller goes.

use crate::body::{self, Writer, streamed};
use crate::failure::{JSON, Refused};
use crate::log::LINES;
use crate::server::{Desk, on_a_thread};
use crate::visit::{Query, Visit};
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use outlive::verbs::log::{self, Log, Part};
use outlive::view::{Colour, Style, StyledLine};
use outlive::{Error, JobId, LinePattern};
use outlive_api::failure::ErrorCode;
use outlive_api::log::LogLine;
use outlive_api::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The most lines of one answer. A page shows some hundred.
const MAX_LINES: u64 = 2000;

/// The most bytes of a line that are sent. The rest is read as raw output.
const MAX_LINE: usize = 4096;

/// Some lines of an output.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Window {
    /// How many lines the whole output has.
    total_lines: u64,
    /// How many bytes the whole output has.
    total_bytes: u64,
    /// How many of them were not kept.
    dropped_bytes: u64,
    /// Lines that were not kept, or not whole: the first, the last, and how many bytes of the output they stand for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<[u64; 3]>,
    /// The lines. Where a number is left out, lines were not kept.
    lines: Vec<ShownLine>,
}

/// One line.
#[derive(Debug, Serialize, JsonSchema)]
struct ShownLine {
    /// Its number, counted from 1.
    line: u64,
    /// Where it begins in the output.
    from_byte: u64,
    /// When it was written, exact to about a second. `null` if that is not known yet.
    at: Option<Timestamp>,
    /// Its text in pieces of one look.
    parts: Vec<Shown>,
    /// How many bytes of its text were left out at its end.
    #[serde(skip_serializing_if = "is_zero")]
    cut: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Text of one look.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    /// The text.
    pub t: String,
    /// The colour of the text, if it has one: a number of the palette, or `#rrggbb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub f: Option<ShownColour>,
    /// The colour behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<ShownColour>,
    /// The sum of: 1 bold, 2 faint, 4 italic, 8 underlined, 16 colours exchanged.
    #[serde(skip_serializing_if = "is_plain")]
    pub s: u8,
}

fn is_plain(flags: &u8) -> bool {
    *flags == 0
}

/// A colour.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ShownColour {
    /// One of the 256 of a terminal.
    Palette(u8),
    /// `#rrggbb`.
    Exact(String),
}

impl ShownColour {
    fn of(colour: Colour) -> Option<ShownColour> {
        match colour {
            Colour::Default => None,
            Colour::Indexed(number) => Some(ShownColour::Palette(number)),
            Colour::Rgb(red, green, blue) => Some(ShownColour::Exact(format!(
                "#{red:02x}{green:02x}{blue:02x}"
            ))),
        }
    }
}

impl Shown {
    pub fn new(text: &str, style: Style) -> Shown {
        Shown {
            t: text.to_owned(),
            f: ShownColour::of(style.foreground),
            b: ShownColour::of(style.background),
            s: style.flags,
        }
    }
}

/// The pieces of a line, at most so many bytes of it.
fn parts(line: &StyledLine, end: usize) -> Vec<Shown> {
    let mut parts = Vec::new();
    let mut at = 0;
    let mut add = |range: Range<usize>, style| {
        if !range.is_empty() {
            parts.push(Shown::new(&line.text[range], style));
        }
    };
    for (run, style) in &line.runs {
        let run = run.start.min(end)..run.end.min(end);
        add(at..run.start, Style::default());
        at = run.end;
        add(run, *style);
    }
    add(at..end, Style::default());
    parts
}

pub async fn lines(
    visit: Visit,
    Path(job): Path<String>,
    query: Query,
) -> Result<Response, Refused> {
    let count = query
        .number("count")?
        .unwrap_or(MAX_LINES / 10)
        .clamp(1, MAX_LINES);
    let part = match query.number("from")? {
        Some(from) => Part::Lines {
            from: from.max(1),
            count,
        },
        None => Part::LastLines(count),
    };
    on_a_thread(move || {
        let id = visit.find(&job)?;
        let log = log::log(&visit.outlive, &id, &part)?;
        let window =
            window(&log).map_err(|error| Refused::io("the output cannot be read", &error))?;
        let bytes = serde_json::to_vec(&window);
        let bytes = bytes.map_err(|error| Refused::new(ErrorCode::Failed, error.to_string()))?;
        Ok(([(CONTENT_TYPE, JSON)], bytes).into_response())
    })
    .await
}

impl Window {
    /// How many bytes the whole output has.
    pub fn size(&self) -> u64 {
        self.total_bytes
    }

    /// How many lines the whole output has.
    pub fn lines(&self) -> u64 {
        self.total_lines
    }
}

pub fn window(log: &Log) -> io::Result<Window> {
    let lines = log.window()?.into_iter().map(|shown| {
        let text = &shown.line.text;
        let end = text.floor_char_boundary(MAX_LINE);
        ShownLine {
            line: shown.number,
            from_byte: shown.offset,
            at: shown.at,
            parts: parts(&shown.line, end),
            cut: text.len() - end,
        }
    });
    Ok(Window {
        total_lines: log.total_lines()?,
        total_bytes: log.size(),
        dropped_bytes: log.dropped_bytes(),
        gaps: log.missing_lines()?,
        lines: lines.collect(),
    })
}

/// What to look for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// The job.
    job: JobId,
    /// The text, or the regular expression.
    pattern: String,
    /// It is a regular expression.
    #[serde(default)]
    regex: bool,
    /// Small and capital letters are the same.
    #[serde(default)]
    ignore_case: bool,
    /// So many matching lines are sent; the others are only counted.
    #[serde(default = "usual_limit")]
    limit: usize,
}

fn usual_limit() -> usize {
    1000
}

/// A part of the answer to a search: one on each line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchPart {
    /// Matching lines that were not sent before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<LogLine>,
    /// How many lines match so far.
    found: u64,
    /// How many bytes were searched.
    searched: u64,
    /// How many bytes there are to search.
    of: u64,
    /// This is the last part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    done: bool,
}

impl Search {
    fn compile(&self) -> Result<LinePattern, Refused> {
        let source = match self.regex {
            true => self.pattern.clone(),
            false => escaped(&self.pattern),
        };
        let source = match self.ignore_case {
            true => format!("(?i){source}"),
            false => source,
        };
        let pattern = LinePattern::new(&source).map_err(|error| Error::BadPattern {
            pattern: self.pattern.clone(),
            reason: error.to_string(),
        });
        Ok(pattern?)
    }
}

/// A regular expression for this text.
fn escaped(text: &str) -> String {
    let mut source = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            source.push('\\');
        }
        source.push(c);
    }
    source
}

pub async fn search(
    State(desk): State<Arc<Desk>>,
    visit: Visit,
    request: Request,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    let asked: Search = body::read(&head.headers, body).await?;
    let pattern = asked.compile()?;
    let turn = desk.streams.clone().acquire_owned().await.ok();
    on_a_thread(move || {
        let id = visit.find(asked.job.as_str())?;
        let log = log::log(&visit.outlive, &id, &Part::Bytes { from: 0, to: None })?;
        let (writer, body) = streamed();
        let work = move || {
            let _turn = turn;
            if write_hits(&log, &pattern, asked.limit, &writer).is_err() {
                writer.cut();
            }
        };
        drop(tokio::task::spawn_blocking(work));
        Ok(([(CONTENT_TYPE, LINES)], body).into_response())
    })
    .await
}

fn write_hits(log: &Log, pattern: &LinePattern, limit: usize, writer: &Writer) -> io::Result<()> {
    let mut search = log.searching(pattern);
    let (mut found, mut left) = (0, limit);
    loop {
        let hits = search.step()?;
        let done = hits.is_none();
        let hits = hits.unwrap_or_default();
        found += hits.len() as u64;
        let shown = hits.iter().take(left).map(|hit| {
            let bytes = hit.bytes.strip_suffix(b"\n").unwrap_or(&hit.bytes);
            let text = String::from_utf8_lossy(bytes);
            LogLine {
                line: hit.number,
                from_byte: hit.offset,
                at: log.time_of(hit),
                stream: None,
                text: text[..text.floor_char_boundary(MAX_LINE)].to_owned(),
            }
        });
        let lines: Vec<LogLine> = shown.collect();
        left -= lines.len();
        let part = SearchPart {
            lines,
            found,
            searched: search.position(),
            of: log.size(),
            done,
        };
        let mut line = serde_json::to_vec(&part)?;
        line.push(b'\n');
        if writer.write(line).is_err() || done {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_for_as_it_is() {
        for text in ["a.b", "(x)", "[y] {z}", "é日|", "a\\b^$*+?"] {
            let pattern = LinePattern::new(&escaped(text)).expect("a pattern");
            assert!(pattern.is_match(format!("x{text}x").as_bytes()), "{text}");
        }
        let pattern = LinePattern::new(&escaped("a.b")).expect("a pattern");
        assert!(!pattern.is_match(b"axb"));
    }

    #[test]
    fn a_line_is_cut_into_pieces_of_one_look() {
        let line = outlive::view::styled(b"a\x1b[31mbc\x1b[md\n");
        let red = |text| Shown {
            f: Some(ShownColour::Palette(1)),
            ..Shown::new(text, Style::default())
        };
        let plain = |text| Shown::new(text, Style::default());
        assert_eq!(parts(&line, 4), [plain("a"), red("bc"), plain("d")]);
        assert_eq!(parts(&line, 2), [plain("a"), red("b")]);
        assert_eq!(parts(&line, 0), []);
    }
}
