//! Takes the trailing `&` off a shell string, so that what it starts is the job.
//!
//! Agents like to start a server with a string such as `cd app && npm start &`.
//! Run by `bash -c`, that shell exits at once and leaves the server behind,
//! belonging to nobody. With exactly that last `&` removed, the shell stays for
//! as long as the server does, and whoever supervises the shell supervises it.
//!
//! This module owns one decision and one edit: whether the last top-level list
//! of a string is backgrounded, and the removal of the `&` that says so. The
//! [`lexer`] reads the string once, from left to right, and knows enough of the
//! shell's grammar to tell that `&` from one in quotes, a comment, a
//! here-document, a redirection or a nested command.
//!
//! In doubt the string is left alone. That covers a string that bash would not
//! read, and what is so rare or so different between shells that the lexer does
//! not follow it.
//!
//! What else a string does so that it outlives its shell is only reported ([`habits`]).
//!
//! It does not run or expand anything. It does not look inside subshells,
//! groups, functions or strings handed to another shell (`(server &)`,
//! `bash -c 'server &'`). It does not touch an `&` that has something after it
//! (`server & wait`), since there the string itself says what its shell is to
//! do next.

mod grammar;
pub mod habits;
mod here_document;
mod lexer;
mod nested;
mod operators;

use lexer::Lexer;

/// Linux passes no longer argument to a program, so a longer script cannot start.
const MAX_SCRIPT_BYTES: usize = 128 * 1024;

/// Returns `script` less its trailing `&` when its last list is backgrounded,
/// and `None` when it is to be run exactly as given.
///
/// Every other byte is kept, so that here-documents, comments and line numbers
/// stay as they were. Where the words on its sides would join without it, a
/// space takes the place of the `&`.
#[must_use]
pub fn foreground(script: &str) -> Option<String> {
    // A last backslash has nothing to escape, and shells differ on what it means.
    if !script.contains('&') || script.ends_with('\\') || script.len() > MAX_SCRIPT_BYTES {
        return None;
    }
    let at = Lexer::new(script).trailing_ampersand()?;
    let (head, tail) = (script.get(..at)?, script.get(at + 1..)?);
    // What follows may run into the word before (`server&#note`), and the only
    // things sure not to are those that end a word themselves.
    let gap = if tail.is_empty() || tail.starts_with([' ', '\t', '\n']) {
        ""
    } else {
        " "
    };
    Some([head, gap, tail].concat())
}

#[cfg(test)]
mod tests;
