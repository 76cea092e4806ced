//! Labels of a job: `KEY=VALUE` pairs by which whoever started it finds it again.
//!
//! They mean nothing to Outlive. They are stored in plain text, so a secret does not belong in one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The most labels of one job.
pub const MAX_LABELS: usize = 64;
/// The longest key, in bytes.
const MAX_KEY: usize = 80;
/// The longest value, in bytes.
const MAX_VALUE: usize = 400;

/// The key of a label: letters, digits and `. _ - / :`, beginning and ending with a letter or a digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct LabelKey(String);

/// The value of a label: text without control characters. It may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct LabelValue(String);

/// All labels of a job.
pub type Labels = BTreeMap<LabelKey, LabelValue>;

/// Selects jobs by one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LabelFilter {
    /// The job has a label with this key.
    pub key: LabelKey,
    /// The label has this value. Without one, any value will do.
    #[serde(default)]
    pub value: Option<LabelValue>,
}

/// One change to the labels of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelEdit {
    /// The job gets this label, or another value for it.
    Set(LabelKey, LabelValue),
    /// The job loses this label.
    Remove(LabelKey),
}

/// Why a label was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadLabels {
    /// The key is empty or has other characters.
    #[error(
        "{0:?} cannot be the key of a label; use letters, digits and . _ - / : inside, and a letter or a digit at \
         both ends"
    )]
    Key(String),
    /// The key is too long.
    #[error("the key of a label has {0} bytes, but at most {MAX_KEY} are allowed")]
    LongKey(usize),
    /// The value is too long.
    #[error("the value of a label has {0} bytes, but at most {MAX_VALUE} are allowed")]
    LongValue(usize),
    /// The value has a control character.
    #[error("the value of a label contains the control character {0:?}")]
    Control(char),
    /// There is no `=`.
    #[error("{0:?} is no label; write KEY=VALUE")]
    NoValue(String),
    /// There is neither a `=` nor a `-` at the end.
    #[error("{0:?} changes no label; write KEY=VALUE to set a label, or KEY- to remove it")]
    NoEdit(String),
    /// One job would have too many.
    #[error("a job can have {MAX_LABELS} labels, not {0}")]
    TooMany(usize),
}

impl LabelKey {
    /// Checks a key that came from outside.
    pub fn parse(text: &str) -> Result<LabelKey, BadLabels> {
        let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
        match text {
            text if text.len() > MAX_KEY => Err(BadLabels::LongKey(text.len())),
            text if is_edge(text.chars().next())
                && is_edge(text.chars().next_back())
                && text.chars().all(is_inner) =>
            {
                Ok(LabelKey(text.to_owned()))
            }
            text => Err(BadLabels::Key(text.to_owned())),
        }
    }

    /// The key as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl LabelValue {
    /// Checks a value that came from outside.
    pub fn parse(text: &str) -> Result<LabelValue, BadLabels> {
        if text.len() > MAX_VALUE {
            return Err(BadLabels::LongValue(text.len()));
        }
        match text.chars().find(|c| c.is_control()) {
            Some(bad) => Err(BadLabels::Control(bad)),
            None => Ok(LabelValue(text.to_owned())),
        }
    }

    /// The value as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parses `KEY=VALUE`.
pub fn parse_pair(text: &str) -> Result<(LabelKey, LabelValue), BadLabels> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| BadLabels::NoValue(text.to_owned()))?;
    Ok((LabelKey::parse(key)?, LabelValue::parse(value)?))
}

/// Refuses more labels than a job can have.
pub fn check(labels: &Labels) -> Result<(), BadLabels> {
    match labels.len() {
        number if number > MAX_LABELS => Err(BadLabels::TooMany(number)),
        _ => Ok(()),
    }
}

impl LabelFilter {
    /// Parses `KEY=VALUE` or `KEY`.
    pub fn parse(text: &str) -> Result<LabelFilter, BadLabels> {
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(LabelValue::parse(value)?)),
            None => (text, None),
        };
        let key = LabelKey::parse(key)?;
        Ok(LabelFilter { key, value })
    }

    /// Whether a job with these labels is selected.
    pub fn admits(&self, labels: &Labels) -> bool {
        let has = labels.get(&self.key);
        has.is_some_and(|has| self.value.as_ref().is_none_or(|value| value == has))
    }
}

impl LabelEdit {
    /// Parses `KEY=VALUE` or `KEY-`.
    pub fn parse(text: &str) -> Result<LabelEdit, BadLabels> {
        match (text.contains('='), text.strip_suffix('-')) {
            (true, _) => parse_pair(text).map(|(key, value)| LabelEdit::Set(key, value)),
            (false, Some(key)) => LabelKey::parse(key).map(LabelEdit::Remove),
            (false, None) => Err(BadLabels::NoEdit(text.to_owned())),
        }
    }
}

impl fmt::Display for LabelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for LabelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<LabelKey> for String {
    fn from(key: LabelKey) -> String {
        key.0
    }
}

impl From<LabelValue> for String {
    fn from(value: LabelValue) -> String {
        value.0
    }
}

impl TryFrom<String> for LabelKey {
    type Error = BadLabels;
    fn try_from(text: String) -> Result<LabelKey, BadLabels> {
        LabelKey::parse(&text)
    }
}

impl TryFrom<String> for LabelValue {
    type Error = BadLabels;
    fn try_from(text: String) -> Result<LabelValue, BadLabels> {
        LabelValue::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[&str]) -> Labels {
        let pairs = pairs.iter().map(|pair| parse_pair(pair));
        pairs.collect::<Result<_, _>>().expect("labels")
    }

    #[test]
    fn a_filter_admits_by_key_or_by_key_and_value() {
        let has = labels(&["suite=unit=fast", "ci.example/run:1=", "x=y"]);
        for (filter, admitted) in [
            ("suite", true),
            ("suite=unit=fast", true),
            ("suite=unit", false),
            ("ci.example/run:1", true),
            ("ci.example/run:1=", true),
            ("x=", false),
            ("y", false),
        ] {
            let filter = LabelFilter::parse(filter).expect(filter);
            assert_eq!(filter.admits(&has), admitted, "{filter:?}");
        }
    }

    #[test]
    fn an_edit_sets_or_removes() {
        let key = |text| LabelKey::parse(text).expect("a key");
        let value = |text| LabelValue::parse(text).expect("a value");
        let edit = |text| LabelEdit::parse(text);
        assert_eq!(edit("a=b-"), Ok(LabelEdit::Set(key("a"), value("b-"))));
        assert_eq!(edit("a="), Ok(LabelEdit::Set(key("a"), value(""))));
        assert_eq!(edit("a-b-"), Ok(LabelEdit::Remove(key("a-b"))));
        assert_eq!(edit("a"), Err(BadLabels::NoEdit("a".to_owned())));
    }

    #[test]
    fn what_cannot_be_a_label_is_refused() {
        for bad in ["", "=v", "-a=v", "a-=v", "a b=v", "ä=v", "a", "a=\u{1b}"] {
            assert!(parse_pair(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(LabelKey::parse(&"k".repeat(MAX_KEY + 1)).is_err());
        assert!(LabelValue::parse(&"v".repeat(MAX_VALUE + 1)).is_err());
    }
}
