//! `log`

use crate::defaults::LOG_LINES;
use crate::log::Cursor;
use crate::streams::Stream;
#[cfg(feature = "schema")]
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How to read an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The part to read.
    pub part: Part,
    /// The form of the reply.
    pub form: LogForm,
    /// Only this stream, of a job that tells its streams apart. Lines and bytes are counted as in the whole output.
    pub stream: Option<Stream>,
}

/// The form in which an output is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LogForm {
    /// One text. The reply is a `LogPage`.
    Page {
        /// As the job wrote it, with escape sequences. Bytes that are not UTF-8 are replaced.
        #[serde(default)]
        raw: bool,
        /// At most this many bytes: the beginning and the end of the part. `None` for as much as is possible.
        #[serde(default)]
        budget: Option<u64>,
    },
    /// Line by line. The reply has a `LogLine` for each.
    Lines {
        /// As the job wrote them, with escape sequences.
        #[serde(default)]
        raw: bool,
        /// Only lines that match this regular expression.
        #[serde(default)]
        matching: Option<String>,
        /// Of those, only so many of the last ones.
        #[serde(default)]
        last: Option<u64>,
    },
    /// Piece by piece. The reply has a `LogPiece` for each.
    Pieces {
        /// As the job wrote them, with escape sequences.
        #[serde(default)]
        raw: bool,
        /// Also what the job writes from now on, until it ends.
        #[serde(default)]
        follow: bool,
    },
    /// The screen of the job's terminal, whatever the part. The reply is a `Screen`.
    Screen,
}

impl Default for LogForm {
    fn default() -> LogForm {
        LogForm::Page {
            raw: false,
            budget: None,
        }
    }
}

/// The part to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// The last so many lines.
    LastLines(u64),
    /// This many lines, starting with this one (numbered from 1).
    Lines {
        /// The number of the first line.
        from: u64,
        /// How many lines.
        count: u64,
    },
    /// These bytes.
    Bytes {
        /// The offset of the first byte.
        from: u64,
        /// The offset after the last byte; up to the end if `None`.
        to: Option<u64>,
    },
    /// What one attempt of a job that is restarted wrote.
    Attempt {
        /// Its number: 1, 2, 3, …
        number: u32,
        /// Of that, so many of the last lines.
        #[serde(default)]
        lines: Option<u64>,
    },
    /// What was written since an earlier look.
    After(Cursor),
    /// What was written in the last `since`, to the second; of that, the last lines.
    Since {
        /// How long ago.
        #[serde(rename = "age_ms", with = "crate::time::ms")]
        #[cfg_attr(feature = "schema", schemars(with = "Millis"))]
        age: Duration,
        /// How many lines at most.
        lines: Option<u64>,
    },
}

impl Default for Part {
    fn default() -> Part {
        Part::LastLines(LOG_LINES)
    }
}
