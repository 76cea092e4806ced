//! Output as every face shows it.

use crate::id::JobId;
use crate::job::JobState;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A place in an output to go on reading from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(
    /// The first byte that has not been read.
    pub u64,
);

/// A text that is no [`Cursor`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a cursor; pass the next_cursor of an earlier reply")]
pub struct BadCursor(String);

impl Cursor {
    /// Checks a cursor that came from outside.
    pub fn parse(text: &str) -> Result<Cursor, BadCursor> {
        let offset = text
            .strip_prefix('b')
            .and_then(|digits| digits.parse().ok());
        offset.map(Cursor).ok_or_else(|| BadCursor(text.to_owned()))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> String {
        cursor.to_string()
    }
}

impl TryFrom<String> for Cursor {
    type Error = BadCursor;
    fn try_from(text: String) -> Result<Cursor, BadCursor> {
        Cursor::parse(&text)
    }
}

/// A part of an output as text. Lines are counted from 1, bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPage {
    /// The job.
    pub id: JobId,
    /// The text.
    pub text: String,
    /// Where the part is in the whole output.
    #[serde(flatten)]
    pub position: LogPosition,
    /// What was left out of the part.
    #[serde(flatten)]
    pub omitted: Omitted,
    /// How far the job had come when its output was read.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub state: Option<JobState>,
    /// The number that a shell would give for its end. `null` while it runs, and if the outcome is unknown.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub exit_code: Option<i32>,
}

/// Where a part of an output is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogPosition {
    /// The first line shown.
    pub from_line: u64,
    /// The last line shown.
    pub to_line: u64,
    /// How many lines the whole output has.
    pub total_lines: u64,
    /// The first byte shown.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub from_byte: u64,
    /// The byte after the last one shown.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub to_byte: u64,
    /// How many bytes the whole output has.
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub total_bytes: u64,
    /// How many bytes of the whole output were not kept.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(extend("x-usual" = [0])))]
    pub dropped_bytes: u64,
    /// Which bytes of the whole output were not kept: each `[from, to]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(extend("x-programs-only" = true)))]
    pub dropped_ranges: Vec<[u64; 2]>,
    /// Passed with a later request, it reads what came after this part.
    pub next_cursor: Cursor,
}

/// Lines of a part that were left out because the text would be too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Omitted {
    /// How many lines were left out because the text would be too long.
    #[serde(default, rename = "omitted_lines", skip_serializing_if = "is_zero")]
    pub lines: u64,
    /// The first of them.
    #[serde(
        default,
        rename = "omitted_from_line",
        skip_serializing_if = "Option::is_none"
    )]
    pub from_line: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One line of an output: what a search, or a log with times, prints for each line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogLine {
    /// Its number, counted from 1.
    pub line: u64,
    /// Where it begins.
    pub from_byte: u64,
    /// When it was written, exact to about a second. `null` if that is not known yet.
    pub at: Option<Timestamp>,
    /// The line, without its newline.
    pub text: String,
}

/// A piece of an output that is followed: what is printed for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum LogPiece {
    /// Output.
    Text {
        /// Where it begins.
        from_byte: u64,
        /// The output. Bytes that are not UTF-8 are replaced.
        text: String,
    },
    /// Output that was not kept.
    Dropped {
        /// Its first byte.
        dropped_from: u64,
        /// The byte after its last.
        dropped_to: u64,
    },
}

/// What a person would see on the job's terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Screen {
    /// The job.
    pub id: JobId,
    /// What the rows show, without the blanks at their ends.
    pub text: String,
    /// How many rows it has.
    pub rows: u16,
    /// How many columns it has.
    pub cols: u16,
    /// Where the cursor is.
    pub cursor: CursorPosition,
    /// A full-screen program has the screen.
    pub alternate: bool,
}

/// The position of a terminal's cursor, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CursorPosition {
    /// The row.
    pub row: u16,
    /// The column.
    pub col: u16,
    /// Whether it is shown.
    pub visible: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        for cursor in [Cursor(0), Cursor(u64::MAX)] {
            assert_eq!(Cursor::parse(&cursor.to_string()), Ok(cursor));
        }
        for bad in ["", "b", "7", "b-1", "bx", "c7"] {
            assert!(Cursor::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
