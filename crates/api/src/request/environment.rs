//! The environment of a job: what it inherits from its caller.

use super::run::{BadSetting, Run};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a job inherits from the environment of the process that starts it. `variables` of the request are set
/// besides, whatever stands here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Environment {
    /// Inherit only a small base: `HOME`, `PATH`, `USER`, the locale and the like.
    pub clean: bool,
    /// Variables to inherit anyway: beside the base, or although they would be withheld.
    pub pass: Vec<VariablePattern>,
    /// Whose environment it is. It decides whether the credentials of agents are withheld, unless the
    /// configuration says so.
    pub source: EnvironmentSource,
    /// Start the command through the user's login shell (`$SHELL`, else bash), which reads the user's profile.
    pub login: bool,
}

/// Whose environment a job inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentSource {
    /// That of a person or a script, who set it for what they run.
    #[default]
    Caller,
    /// That of an agent's harness, which keeps its own credentials there.
    Harness,
}

/// The name of a variable, or a pattern for names: `*` means any characters, `?` means one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct VariablePattern(String);

/// Why a text is no name or pattern of a variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the name of a variable; write a name such as \"API_KEY\", or a pattern such as \"AWS_*\", without a value"
)]
pub struct BadVariablePattern(pub String);

impl VariablePattern {
    /// Checks a name or pattern.
    pub fn parse(text: &str) -> Result<VariablePattern, BadVariablePattern> {
        let is_wrong = text.is_empty() || text.contains(['=', '\0']);
        match is_wrong {
            true => Err(BadVariablePattern(text.to_owned())),
            false => Ok(VariablePattern(text.to_owned())),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole name fits.
    pub fn matches(&self, name: &[u8]) -> bool {
        glob(self.0.as_bytes(), name)
    }
}

/// Whether the text fits the pattern. After a mismatch, the last `*` takes one byte more, so the time is at most
/// the product of both lengths.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else {
                    return false;
                };
                star = Some((at, taken + 1));
                (p, t) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

impl fmt::Display for VariablePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<VariablePattern> for String {
    fn from(pattern: VariablePattern) -> String {
        pattern.0
    }
}

impl TryFrom<String> for VariablePattern {
    type Error = BadVariablePattern;
    fn try_from(text: String) -> Result<VariablePattern, BadVariablePattern> {
        VariablePattern::parse(&text)
    }
}

impl Run {
    /// Lets it inherit only a small base of the environment, and what [`env_pass`](Run::env_pass) names.
    #[must_use]
    pub fn env_clean(mut self) -> Run {
        self.environment.clean = true;
        self
    }

    /// Lets it inherit the variables of this name or pattern (`*`, `?`), although others are left out.
    #[must_use]
    pub fn env_pass(mut self, pattern: &str) -> Run {
        match VariablePattern::parse(pattern) {
            Ok(pattern) => self.environment.pass.push(pattern),
            Err(reason) => self.refused = Some(BadSetting::Variable(reason)),
        }
        self
    }

    /// Withholds the credentials of agents from it, unless the configuration says otherwise. For a program that is
    /// itself an agent's harness.
    #[must_use]
    pub fn from_harness(mut self) -> Run {
        self.environment.source = EnvironmentSource::Harness;
        self
    }

    /// Starts it through the user's login shell.
    #[must_use]
    pub fn login(mut self) -> Run {
        self.environment.login = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_whole_name() {
        for (pattern, name, fits) in [
            ("HOME", "HOME", true),
            ("HOME", "HOMES", false),
            ("HOME", "home", false),
            ("LC_*", "LC_ALL", true),
            ("LC_*", "LC_", true),
            ("LC_*", "XLC_A", false),
            ("*_KEY", "A_KEY_KEY", true),
            ("*_KEY", "A_KEYS", false),
            ("A?C", "ABC", true),
            ("A?C", "AC", false),
            ("*A*B*", "xxAyyB", true),
            ("*A*B*", "xxByyA", false),
            ("*", "", true),
            ("?", "", false),
        ] {
            let pattern = VariablePattern::parse(pattern).expect("valid");
            assert_eq!(pattern.matches(name.as_bytes()), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn an_assignment_is_no_pattern() {
        for text in ["", "A=b", "A\0"] {
            assert!(VariablePattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_little_time() {
        let pattern = "*a".repeat(500) + "b";
        assert!(!glob(pattern.as_bytes(), "a".repeat(5000).as_bytes()));
    }
}
