//! Watching an output for patterns.
//!
//! A line matches if one of the positive patterns is in it (or there is no positive pattern) and no inverted
//! pattern is.

use crate::defaults::{WATCH_SPACING, WATCH_STRIKES, milliseconds};
use serde::{Deserialize, Serialize};

/// What to watch for; part of the spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// What is looked for.
    pub patterns: Vec<Pattern>,
    /// The watch ends after this many matches; `None` means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// At most one report in this time. Matches in between are counted.
    #[serde(default = "default_spacing_ms")]
    pub spacing_ms: u64,
    /// The watch turns itself off after this many busy spacings in a row; 0 means never.
    #[serde(default = "default_strikes")]
    pub strikes: u32,
}

/// One thing to look for, or to exclude, in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Match lines that contain this text.
    Text(String),
    /// Match lines that contain this regular expression; `^` and `$` match at the ends of the line.
    Regex(String),
    /// Exclude lines that contain this text.
    NotText(String),
    /// Exclude lines that contain this regular expression.
    NotRegex(String),
}

impl Watch {
    /// A watch for these patterns, with defaults for everything else.
    pub fn for_patterns(patterns: Vec<Pattern>) -> Watch {
        Watch {
            patterns,
            limit: None,
            spacing_ms: milliseconds(WATCH_SPACING),
            strikes: WATCH_STRIKES,
        }
    }
}

impl Pattern {
    /// The text as the user wrote it.
    pub fn source(&self) -> &str {
        match self {
            Pattern::Text(source)
            | Pattern::Regex(source)
            | Pattern::NotText(source)
            | Pattern::NotRegex(source) => source,
        }
    }

    /// Whether the pattern excludes lines.
    pub fn is_inverted(&self) -> bool {
        matches!(self, Pattern::NotText(_) | Pattern::NotRegex(_))
    }
}

fn default_spacing_ms() -> u64 {
    milliseconds(WATCH_SPACING)
}

fn default_strikes() -> u32 {
    WATCH_STRIKES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_watch_stays_readable() {
        let written = r#"{"patterns":[{"text":"listening"},{"not_regex":"^DEBUG"}],"limit":1,"spacing_ms":5000,"strikes":2}"#;
        let watch = Watch {
            patterns: vec![
                Pattern::Text("listening".into()),
                Pattern::NotRegex("^DEBUG".into()),
            ],
            limit: Some(1),
            spacing_ms: 5000,
            strikes: 2,
        };
        assert_eq!(serde_json::to_string(&watch).expect("written"), written);
        assert_eq!(serde_json::from_str::<Watch>(written).expect("read"), watch);
    }

    #[test]
    fn missing_fields_have_defaults() {
        let read: Watch = serde_json::from_str(r#"{"patterns":[{"regex":"a+"}]}"#).expect("read");
        assert_eq!(read, Watch::for_patterns(vec![Pattern::Regex("a+".into())]));
        assert_eq!((read.spacing_ms, read.strikes), (15_000, 3));
    }
}
