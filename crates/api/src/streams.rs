//! Standard output and standard error of a job, together or told apart.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What becomes of a job's standard output and standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// They are one stream, in exactly the order in which they were written.
    #[default]
    Merged,
    /// Each byte is known to be of one or the other. Between the two, the order is that of arrival.
    Split,
}

impl Streams {
    /// Whether they are one stream, as they usually are.
    pub fn is_merged(&self) -> bool {
        *self == Streams::Merged
    }
}

/// One of the two streams of a job that tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Stream {
        match self {
            Stream::Stdout => Stream::Stderr,
            Stream::Stderr => Stream::Stdout,
        }
    }

    /// The word for it in JSON and in text.
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
