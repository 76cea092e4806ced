//! What a place says, made harmless. It stands beside words of ours, on a terminal, in a log and before a model.

use super::{Answer, FarFailure, Greeting, Instance, Launched};
use crate::quote;
use serde_json::Value;

/// The most characters of a text of a place that are shown. Ours are shorter.
const MAX_WORDS: usize = 1000;

impl FarFailure {
    /// What a place said, made harmless: it stands beside words of ours, on a terminal and before a model.
    pub fn quoted(self) -> FarFailure {
        let is_code = |code: &str| {
            let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
            (1..=40).contains(&code.len()) && code.bytes().all(is_letter)
        };
        FarFailure {
            code: match is_code(&self.code) {
                true => self.code,
                false => "refused".to_owned(),
            },
            message: words(&self.message),
        }
    }
}

impl Greeting {
    /// The same with all that is only for reading made harmless.
    pub fn quoted(self) -> Greeting {
        /// More than any machine has to say.
        const MAX_NOTES: usize = 20;
        let instance = self.instance;
        let notes = self.notes.iter().take(MAX_NOTES);
        Greeting {
            instance: Instance {
                host: words(&instance.host),
                machine: instance.machine.as_deref().map(words),
                boot: words(&instance.boot),
                ..instance
            },
            user: words(&self.user),
            system: words(&self.system),
            notes: notes.map(|note| words(note)).collect(),
            ..self
        }
    }
}

impl Answer {
    /// The same with all that is only for reading made harmless.
    pub fn quoted(self) -> Answer {
        match self {
            Answer::Hello(greeting) => Answer::Hello(Box::new(greeting.quoted())),
            Answer::Launch(Launched::NotMade { reason }) => Answer::Launch(Launched::NotMade {
                reason: words(&reason),
            }),
            Answer::Removed { left } => {
                let left = left.into_iter().map(|(job, why)| (job, words(&why)));
                Answer::Removed {
                    left: left.collect(),
                }
            }
            Answer::Cleaned { removed } => Answer::Cleaned {
                removed: removed.iter().map(|name| words(name)).collect(),
            },
            Answer::Doctor(report) => Answer::Doctor(quoted_values(report)),
            Answer::Failed(failure) => Answer::Failed(failure.quoted()),
            Answer::Launch(_) | Answer::Standing(_) | Answer::Look { .. } => self,
        }
    }
}

/// A text of a place as one line that is not too long.
pub fn words(text: &str) -> String {
    let cut = text.char_indices().nth(MAX_WORDS).map(|(at, _)| at);
    match cut {
        None => quote::line(text),
        Some(at) => format!("{}…", quote::line(&text[..at])),
    }
}

/// The same with the texts in it made harmless.
fn quoted_values(value: serde_json::Value) -> serde_json::Value {
    match value {
        Value::String(text) => Value::String(words(&text)),
        Value::Array(values) => values.into_iter().map(quoted_values).collect(),
        Value::Object(values) => {
            let values = values.into_iter();
            values
                .map(|(key, value)| (key, quoted_values(value)))
                .collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_place_says_is_one_line_without_commands_for_a_terminal() {
        let failure = FarFailure {
            code: "no_such_job\n".to_owned(),
            message: format!("gone\n\u{1b}]0;title\u{7}{}", "x".repeat(2 * MAX_WORDS)),
        };
        let quoted = failure.quoted();
        assert_eq!(quoted.code, "refused");
        assert!(
            quoted.message.starts_with("gone\\n\\x1b]0;title\\x07xxx"),
            "{quoted:?}"
        );
        assert!(quoted.message.chars().count() < MAX_WORDS + 20);
        let report = serde_json::json!({"checks": [{"name": "a\u{1b}b", "n": 1}]});
        let Answer::Doctor(report) = Answer::Doctor(report).quoted() else {
            panic!("another answer");
        };
        assert_eq!(report["checks"][0]["name"], "a\\x1bb");
    }
}
