//! The matches that a watch finds in an output. The patterns are defined in `outlive-api`.
//!
//! A line is a match if one of the positive patterns is in it, or there is none, and no inverted one
//! is. Finding matches, and limiting how many are told, is the keeper's task (`keeper/signs/watch`).

pub use outlive_api::watch::{Pattern, Watch};

use serde::{Deserialize, Serialize};

/// A line that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match {
    /// The offset of the line in the output.
    pub offset: u64,
    /// The offset of its end, without the newline. For an unfinished line, how far it had come.
    pub end: u64,
    /// The index of the first positive pattern in the line; `None` if there are no positive patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<usize>,
    /// The line without escape sequences, possibly cut off.
    pub text: String,
}
