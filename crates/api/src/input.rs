//! What a job reads from, and what is written to it.

use crate::terminal::Size;
use serde::{Deserialize, Serialize};

/// Where a job's standard input comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Nothing: the input is empty.
    #[default]
    Null,
    /// A pipe that stays open until a request closes it or the job ends.
    Pipe,
    /// A terminal of its own, which also takes its output.
    Pty(Size),
}

/// An id by which a repeated write is recognised: a write with an id that was used before writes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct WriteId(String);

/// A text that is no [`WriteId`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a write id has 1 to {max} bytes, but this one has {0}", max = WriteId::MAX)]
pub struct BadWriteId(usize);

impl WriteId {
    /// The most bytes of an id: a keeper remembers ids in a place of fixed size.
    pub const MAX: usize = 42;

    /// Checks an id that came from outside.
    pub fn parse(text: &str) -> Result<WriteId, BadWriteId> {
        match text.len() {
            1..=WriteId::MAX => Ok(WriteId(text.to_owned())),
            length => Err(BadWriteId(length)),
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<WriteId> for String {
    fn from(id: WriteId) -> String {
        id.0
    }
}

impl TryFrom<String> for WriteId {
    type Error = BadWriteId;
    fn try_from(text: String) -> Result<WriteId, BadWriteId> {
        WriteId::parse(&text)
    }
}

/// What kind of input a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A line whose characters are not shown while they are typed.
    Password,
    /// A line.
    Line,
    /// Single keys: the program reads each key as it is typed.
    Keys,
    /// Bytes from a pipe.
    Data,
}
