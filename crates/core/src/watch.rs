//! Watching an output for patterns: what is found. What is asked is in `outlive-api`.
//!
//! A line is a match if one of the positive patterns is in it, or there is none, and no inverted one
//! is. Finding matches, and limiting how many are told, is the keeper's task (`keeper/signs/watch`).

pub use outlive_api::watch::{DEFAULT_SPACING_MS, DEFAULT_STRIKES, Pattern, Watch};

use serde::{Deserialize, Serialize};

/// A line that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match {
    /// Where the line begins in the output.
    pub offset: u64,
    /// Where it ends, the newline not counted; or how far it had come.
    pub end: u64,
    /// Which of the patterns, counted from 0: the first positive one in the line, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<usize>,
    /// The line without escape sequences, or its beginning.
    pub text: String,
}
