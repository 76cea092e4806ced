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

/// The most lines that one event has.
pub const MAX_LINES: usize = 20;
/// The most bytes of each.
const MAX_LINE_BYTES: usize = 400;

/// Keeps this line as the newest of those that one event will have.
pub fn keep_line(lines: &mut Vec<String>, text: &str) {
    if lines.len() >= MAX_LINES {
        lines.remove(0);
    }
    lines.push(text[..text.floor_char_boundary(MAX_LINE_BYTES)].to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_and_long_ones_cut() {
        let mut lines = Vec::new();
        for number in 0..50 {
            keep_line(&mut lines, &number.to_string());
        }
        keep_line(&mut lines, &"ä".repeat(1000));
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines[0], "31");
        assert_eq!(lines[19].len(), MAX_LINE_BYTES);
    }
}
