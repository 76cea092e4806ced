//! Watching an output for patterns.
//!
//! A line matches if one of the positive patterns is in it (or there is no positive pattern) and no inverted
//! pattern is.

use serde::{Deserialize, Serialize};

/// Between two things told of one watch, unless asked otherwise.
pub const DEFAULT_SPACING_MS: u64 = 15_000;
/// Busy spacings in a row before a watch turns itself off, unless asked otherwise.
pub const DEFAULT_STRIKES: u32 = 3;

/// What is watched for; part of what was asked of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// What is looked for.
    pub patterns: Vec<Pattern>,
    /// After this many matches it is over; never where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// At most one thing is told in this time; what comes meanwhile is counted.
    #[serde(default = "default_spacing_ms")]
    pub spacing_ms: u64,
    /// It turns itself off after this many busy spacings in a row; 0 for never.
    #[serde(default = "default_strikes")]
    pub strikes: u32,
}

/// One thing to look for, or to pass over, in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// A line that holds this text.
    Text(String),
    /// A line in which this regular expression matches; `^` and `$` are the line's.
    Regex(String),
    /// No line that holds this text.
    NotText(String),
    /// No line in which this regular expression matches.
    NotRegex(String),
}

impl Watch {
    /// Watches for these, with everything else as usual.
    pub fn for_patterns(patterns: Vec<Pattern>) -> Watch {
        Watch {
            patterns,
            limit: None,
            spacing_ms: DEFAULT_SPACING_MS,
            strikes: DEFAULT_STRIKES,
        }
    }
}

impl Pattern {
    /// As it was written.
    pub fn source(&self) -> &str {
        match self {
            Pattern::Text(source)
            | Pattern::Regex(source)
            | Pattern::NotText(source)
            | Pattern::NotRegex(source) => source,
        }
    }

    /// Whether it says which lines are no match.
    pub fn is_inverted(&self) -> bool {
        matches!(self, Pattern::NotText(_) | Pattern::NotRegex(_))
    }
}

fn default_spacing_ms() -> u64 {
    DEFAULT_SPACING_MS
}

fn default_strikes() -> u32 {
    DEFAULT_STRIKES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_once_is_read_for_ever() {
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
    fn what_is_not_said_is_as_usual() {
        let read: Watch = serde_json::from_str(r#"{"patterns":[{"regex":"a+"}]}"#).expect("read");
        assert_eq!(read, Watch::for_patterns(vec![Pattern::Regex("a+".into())]));
        assert_eq!((read.spacing_ms, read.strikes), (15_000, 3));
    }
}
