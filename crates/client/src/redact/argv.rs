//! The arguments of a command, of which one may say what the next is.

use super::{marker_len, redact};

/// Replaces every secret found in the arguments of a command.
#[must_use]
pub fn redact_argv(argv: &[String]) -> Vec<String> {
    let mut option: Option<&str> = None;
    argv.iter()
        .map(|argument| {
            let value = option.and_then(|option| value_of(option, argument));
            option = argument.starts_with('-').then_some(argument);
            value.unwrap_or_else(|| redact(argument).into_owned())
        })
        .collect()
}

/// What stands for the argument, if what stands before it says that it is a secret.
fn value_of(option: &str, argument: &str) -> Option<String> {
    // As one word, since all of it is the value.
    let word = argument.replace(|c: char| c.is_whitespace() || "\"'`\\".contains(c), "_");
    let line = format!("{option} {word}");
    let redacted = redact(&line);
    let value = redacted.strip_prefix(option)?.strip_prefix(' ')?;
    (value != word && marker_len(value) == Some(value.len())).then(|| value.to_owned())
}
