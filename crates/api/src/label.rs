//! Names, sessions and tasks: text that somebody else chose.
//!
//! A label is stored and shown unchanged. Its file name ([`Label::file_name`], used in `names/` and
//! `sessions/`) keeps safe characters and encodes every other byte as `%xx`. The encoding is
//! reversible, so two labels never share a file.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A label of this many bytes, with three characters per byte, still fits a file name of 255 bytes.
const MAX_LEN: usize = 80;

/// A name, session or task key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// Why a label was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadLabel {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It has too many bytes.
    #[error("it has {0} bytes, but at most {MAX_LEN} are allowed")]
    TooLong(usize),
    /// It has a control character.
    #[error("it contains the control character {0:?}")]
    Control(char),
}

impl Label {
    /// Checks a label that came from outside.
    pub fn parse(text: &str) -> Result<Label, BadLabel> {
        Label::check(text)?;
        Ok(Label(text.to_owned()))
    }

    fn check(text: &str) -> Result<(), BadLabel> {
        if text.is_empty() {
            return Err(BadLabel::Empty);
        }
        if text.len() > MAX_LEN {
            return Err(BadLabel::TooLong(text.len()));
        }
        match text.chars().find(|c| c.is_control()) {
            Some(bad) => Err(BadLabel::Control(bad)),
            None => Ok(()),
        }
    }

    /// The label as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file name that represents this label.
    pub fn file_name(&self) -> String {
        let mut name = String::with_capacity(self.0.len());
        for (index, byte) in self.0.bytes().enumerate() {
            // A leading dot would hide the file, and `.` and `..` are directories.
            let safe = byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'-')
                || (byte == b'.' && index > 0);
            if safe {
                name.push(char::from(byte));
            } else {
                name.push_str(&format!("%{byte:02x}"));
            }
        }
        name
    }
}

impl Label {
    /// The label that this file name represents, if any.
    pub fn of_file_name(name: &str) -> Option<Label> {
        let mut bytes = Vec::with_capacity(name.len());
        let mut rest = name.as_bytes();
        while let [first, more @ ..] = rest {
            rest = match (first, more) {
                (b'%', [high, low, more @ ..]) => {
                    let digits = [*high, *low];
                    let digits = str::from_utf8(&digits).ok()?;
                    bytes.push(u8::from_str_radix(digits, 16).ok()?);
                    more
                }
                (byte, more) => {
                    bytes.push(*byte);
                    more
                }
            };
        }
        let label = Label::parse(str::from_utf8(&bytes).ok()?).ok()?;
        (label.file_name() == name).then_some(label)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> String {
        label.0
    }
}

impl TryFrom<String> for Label {
    type Error = BadLabel;
    fn try_from(text: String) -> Result<Label, BadLabel> {
        Label::check(&text)?;
        Ok(Label(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn file_names_are_plain() {
        for (label, file) in [
            ("dev", "dev"),
            (".", "%2e"),
            ("..", "%2e."),
            ("a/b", "a%2fb"),
            ("agent:main", "agent%3amain"),
            ("50%", "50%25"),
        ] {
            assert_eq!(Label::parse(label).map(|l| l.file_name()), Ok(file.into()));
        }
    }

    #[test]
    fn other_files_are_no_labels() {
        for name in ["", "a%2", "a%zz", "a%2F", ".hidden", "a b"] {
            assert_eq!(Label::of_file_name(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_label_is_read_back_from_its_file_name(text in "\\PC{1,40}") {
            if let Ok(label) = Label::parse(&text) {
                prop_assert_eq!(Label::of_file_name(&label.file_name()), Some(label));
            }
        }

        #[test]
        fn two_labels_never_share_a_file(a in "\\PC{1,40}", b in "\\PC{1,40}") {
            if let (Ok(x), Ok(y)) = (Label::parse(&a), Label::parse(&b)) {
                prop_assert_eq!(x.file_name() == y.file_name(), a == b);
                prop_assert!(x.file_name().len() <= 255);
            }
        }
    }
}
