//! Job ids.
//!
//! A generated id has ten characters of a sorted base-32 alphabet: eight for the milliseconds since
//! 2025 and two random ones. So ids sort by start time as text and are short enough to type. Two
//! launches in one millisecond rarely get the same id; if they do, the second cannot create its
//! directory and generates another id. A caller may choose its own id within the rules of
//! [`JobId::parse`]. An id becomes a file name, so those rules refuse hidden names and anything that
//! could leave the directory.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Lower-case base 32 without letters that look like digits; sorted, so that ids sort as text.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 2025-01-01T00:00:00Z in Unix milliseconds. Forty bits from here last until 2059.
const EPOCH_MS: u64 = 1_735_689_600_000;
const TIME_CHARS: u32 = 8;
const RANDOM_CHARS: u32 = 2;
/// Longer ids would make paths that break other limits, such as socket names.
const MAX_LEN: usize = 64;

/// The id of a job: a safe file name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct JobId(String);

/// Why an id from outside was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadId {
    /// It is empty.
    #[error("a job id cannot be empty")]
    Empty,
    /// It has too many characters.
    #[error("a job id has at most {MAX_LEN} characters, but this one has {0}")]
    TooLong(usize),
    /// It starts with a character that only the rest may have.
    #[error("a job id must start with a letter or a digit, not with {0:?}")]
    BadStart(char),
    /// It has a character that no id has.
    #[error("a job id consists of letters, digits, '.', '_' and '-', but this one contains {0:?}")]
    BadChar(char),
}

impl JobId {
    /// Makes an id from the time and random bits. Both are arguments, so that this stays pure.
    pub fn make(unix_ms: u64, random: u16) -> JobId {
        let time = unix_ms.saturating_sub(EPOCH_MS);
        let mut text = String::with_capacity((TIME_CHARS + RANDOM_CHARS) as usize);
        push_base32(&mut text, time, TIME_CHARS);
        push_base32(&mut text, u64::from(random), RANDOM_CHARS);
        JobId(text)
    }

    /// Checks an id that came from outside.
    pub fn parse(text: &str) -> Result<JobId, BadId> {
        JobId::check(text)?;
        Ok(JobId(text.to_owned()))
    }

    fn check(text: &str) -> Result<(), BadId> {
        let first = text.chars().next().ok_or(BadId::Empty)?;
        if text.len() > MAX_LEN {
            return Err(BadId::TooLong(text.chars().count()));
        }
        if let Some(bad) = text.chars().find(|c| !is_id_char(*c)) {
            return Err(BadId::BadChar(bad));
        }
        if !first.is_ascii_alphanumeric() {
            return Err(BadId::BadStart(first));
        }
        Ok(())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether `text` could be the start of a job id.
pub fn is_prefix(text: &str) -> bool {
    JobId::parse(text).is_ok()
}

fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

pub(crate) fn push_base32(text: &mut String, value: u64, chars: u32) {
    for index in (0..chars).rev() {
        let digit = (value >> (5 * index)) & 31;
        text.push(char::from(ALPHABET[digit as usize]));
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> String {
        id.0
    }
}

impl TryFrom<String> for JobId {
    type Error = BadId;
    fn try_from(text: String) -> Result<JobId, BadId> {
        JobId::check(&text)?;
        Ok(JobId(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_that_could_leave_its_directory_is_refused() {
        let long = "x".repeat(65);
        for bad in [
            "", ".", "..", "../x", "a/b", "-rf", "_x", "a b", "a\0b", "ä", "a\n", &long,
        ] {
            assert!(JobId::parse(bad).is_err(), "{bad:?} was accepted");
        }
        for good in ["a", "0", "build-7", "a..b", "A_b.c", &"x".repeat(64)] {
            assert!(JobId::parse(good).is_ok(), "{good:?} was refused");
        }
    }

    proptest! {
        #[test]
        fn made_ids_are_valid_and_sort_by_time(a in EPOCH_MS..EPOCH_MS + (1 << 40), b in EPOCH_MS..EPOCH_MS + (1 << 40), r: u16, s: u16) {
            let (x, y) = (JobId::make(a, r), JobId::make(b, s));
            prop_assert!(JobId::parse(x.as_str()).is_ok());
            prop_assert_eq!(x.as_str().len(), 10);
            if a != b {
                prop_assert_eq!(a < b, x < y);
            }
        }

        #[test]
        fn accepted_ids_are_single_plain_file_names(text in "\\PC{0,80}") {
            if let Ok(id) = JobId::parse(&text) {
                let path = std::path::Path::new(id.as_str());
                let parts: Vec<_> = path.components().collect();
                prop_assert_eq!(parts.len(), 1);
                prop_assert!(matches!(parts[0], std::path::Component::Normal(_)));
                prop_assert!(!id.as_str().starts_with('.'));
            }
        }
    }
}
