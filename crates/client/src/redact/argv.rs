//! Redacts the arguments of a command. An argument may say that the next one is a secret.

use super::{MARKER, redact};

/// How many arguments before an option are searched for the program that the option belongs to.
const CONTEXT: usize = 16;

/// Only this many bytes of each of these arguments are searched.
const MAX_CONTEXT_WORD: usize = 64;

/// Replaces every secret found in the arguments of a command.
#[must_use]
pub fn redact_argv(argv: &[String]) -> Vec<String> {
    let each = argv.iter().enumerate().map(|(i, argument)| {
        let value = value_of(&argv[..i], argument);
        value.unwrap_or_else(|| redact(argument).into_owned())
    });
    each.collect()
}

/// The redacted argument, if the arguments before it say that it contains a secret.
fn value_of(before: &[String], argument: &str) -> Option<String> {
    let option = before.last().filter(|option| option.starts_with('-'))?;
    let word = as_word(argument);
    let known = before.len().saturating_sub(CONTEXT);
    let context: Vec<String> = before[known..before.len() - 1]
        .iter()
        .map(|word| as_word(&word[..word.floor_char_boundary(MAX_CONTEXT_WORD)]))
        .chain([option.clone()])
        .collect();
    let line = format!("{} {word}", context.join(" "));
    let redacted = redact(&line);
    let (_, value) = redacted.rsplit_once(' ')?;
    let is_more = value != redact(&word);
    (is_more && value.contains(MARKER)).then(|| value.to_owned())
}

/// The argument without spaces and quotes, so that the rules take it for one word.
fn as_word(argument: &str) -> String {
    argument.replace(|c: char| c.is_whitespace() || "\"'`\\".contains(c), "_")
}
