//! Tells apart jobs that used the same id at different times.
//!
//! A caller may choose a job's id, and may choose it again after the first job was pruned. Event ids
//! and the lines of `told` carry the incarnation beside the id, so that they never match the other job.

use crate::id;
use serde::{Deserialize, Serialize};
use std::fmt;

const CHARS: u32 = 6;

/// A few random characters that a launcher gives each new job or post. Jobs of the first release have
/// none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Incarnation(String);

/// A text that is no [`Incarnation`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not an incarnation: it has 1 to 16 lower-case letters and digits")]
pub struct BadIncarnation(String);

impl Incarnation {
    /// Makes one from random bits, which are an argument so that this stays pure.
    pub fn make(random: u32) -> Incarnation {
        let mut text = String::with_capacity(CHARS as usize);
        id::push_base32(&mut text, u64::from(random), CHARS);
        Incarnation(text)
    }

    /// Checks an incarnation that came from outside.
    pub fn parse(text: &str) -> Result<Incarnation, BadIncarnation> {
        Incarnation::try_from(text.to_owned())
    }

    /// The incarnation as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Incarnation> for String {
    fn from(incarnation: Incarnation) -> String {
        incarnation.0
    }
}

impl TryFrom<String> for Incarnation {
    type Error = BadIncarnation;
    fn try_from(text: String) -> Result<Incarnation, BadIncarnation> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        match (1..=16).contains(&text.len()) && text.bytes().all(is_plain) {
            true => Ok(Incarnation(text)),
            false => Err(BadIncarnation(text)),
        }
    }
}
