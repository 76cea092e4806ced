//! When a job's command is run again after it has ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// When a job's command is run again, as text: `on-failure`, `on-failure:N` (at most N times) or `always`. Each run is an attempt of the same job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub enum Restart {
    /// After an attempt that failed, was ended by a signal or a timeout, or whose outcome is not known. The first
    /// success ends the job.
    OnFailure {
        /// At most this many times; without it, as often as needed.
        max: Option<u32>,
    },
    /// After every attempt.
    Always,
}

/// Why the text of a restart rule was refused.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadRestart {
    /// It is none of the rules.
    #[error("{0:?} is not a rule for restarts; write on-failure, on-failure:N or always")]
    Rule(String),
    /// The number of restarts is none.
    #[error("{0:?} is not a number of restarts; write a number of at least 1, as in on-failure:3")]
    Count(String),
}

impl Restart {
    /// Parses `on-failure`, `on-failure:N` or `always`.
    pub fn parse(text: &str) -> Result<Restart, BadRestart> {
        match text.split_once(':') {
            None if text == "always" => Ok(Restart::Always),
            None if text == "on-failure" => Ok(Restart::OnFailure { max: None }),
            Some(("on-failure", count)) => match count.parse() {
                Ok(max) if max > 0 => Ok(Restart::OnFailure { max: Some(max) }),
                _ => Err(BadRestart::Count(count.to_owned())),
            },
            _ => Err(BadRestart::Rule(text.to_owned())),
        }
    }

    /// Checks a rule that was not parsed from its text.
    pub fn check(self) -> Result<(), BadRestart> {
        match self {
            Restart::OnFailure { max: Some(0) } => Err(BadRestart::Count("0".to_owned())),
            Restart::OnFailure { .. } | Restart::Always => Ok(()),
        }
    }
}

impl fmt::Display for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Restart::OnFailure { max: None } => f.write_str("on-failure"),
            Restart::OnFailure { max: Some(max) } => write!(f, "on-failure:{max}"),
            Restart::Always => f.write_str("always"),
        }
    }
}

impl TryFrom<String> for Restart {
    type Error = BadRestart;

    fn try_from(text: String) -> Result<Restart, BadRestart> {
        Restart::parse(&text)
    }
}

impl From<Restart> for String {
    fn from(rule: Restart) -> String {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written() {
        for text in ["on-failure", "on-failure:3", "always"] {
            let rule = Restart::parse(text).expect("a rule");
            assert_eq!(rule.to_string(), text);
            assert_eq!(rule.check(), Ok(()));
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_rules() {
        for text in ["", "no", "never", "always:3", "on-failure:", "on-failure:0"] {
            let refused = Restart::parse(text).expect_err("refused").to_string();
            assert!(refused.contains("on-failure"), "{refused}");
        }
        assert!(Restart::OnFailure { max: Some(0) }.check().is_err());
    }
}
