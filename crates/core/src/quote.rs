//! Quotes text that somebody else chose, so that a reader can tell it from ours.
//!
//! A job chooses its output, its command, its name, its directory and its questions. All of that is shown to a
//! model beside sentences of ours, and the model acts on those. So text of others has one of three forms:
//!
//! | form | where | what it guarantees |
//! |---|---|---|
//! | [`block`] | on lines of its own | each line begins with `|`, as none of ours does |
//! | [`word`], [`string`] | within a sentence | one plain word, or a string in double quotes with escapes |
//! | [`fenced`] | long output | between two lines with a key that the output cannot know |
//!
//! [`line()`] is for a sentence of ours that contains such text, as the reason of a failed start does.
//!
//! In every form, characters that begin a line, move a cursor, reorder or hide text become escapes such as
//! `\x1b` and `\u{2028}` ([`visible`]). Blocks, words and lines also show a `<` that could begin a tag as `‹`:
//! agents mark their own instructions to a model with tags, and put what a hook says between two of them. Text
//! between fences keeps its `<`, because a model may copy code from it; it is for places that no tag encloses.
//!
//! Quoted text is for reading. Programs get the exact values as JSON.

use std::borrow::Cow;

/// The most characters of a name within a sentence. A label has at most 80 bytes, so none is cut.
pub const MAX_WORD: usize = 80;

/// The most characters of a path within a sentence.
pub const MAX_PATH: usize = 200;

/// Stands for a `<` that could begin a tag.
const OPENING: char = '‹';

/// The text on lines of its own, each of which begins with `|`. Has no newline at its end.
pub fn block(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 16 + 2);
    for line in text.split('\n') {
        if !quoted.is_empty() {
            quoted.push('\n');
        }
        quoted.push('|');
        if !line.is_empty() {
            quoted.push(' ');
            push_line(&mut quoted, line, |c| c == '\t');
        }
    }
    quoted
}

/// The text within a sentence: as it is if it is one plain word, such as a name or a path, and otherwise as a
/// [`string`].
pub fn word(text: &str, most: usize) -> String {
    let is_plain = |c: char| is_shown(c) && (c.is_alphanumeric() || "._-/:@%+,=~".contains(c));
    match !text.is_empty() && text.chars().all(is_plain) && text.chars().count() <= most {
        true => text.to_owned(),
        false => string(text, most),
    }
}

/// At most the first `most` characters of the text, in double quotes, with escapes.
pub fn string(text: &str, most: usize) -> String {
    let begin = text.char_indices().nth(most).map(|(end, _)| &text[..end]);
    let escaped = begin.unwrap_or(text).replace('\\', "\\\\");
    let escaped = escaped.replace('"', "\\\"");
    let mut quoted = String::from('"');
    push_line(&mut quoted, &escaped, |_| false);
    if begin.is_some() {
        quoted.push('…');
    }
    quoted.push('"');
    quoted
}

/// The text on one line, without quotes.
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    push_line(&mut shown, text, |_| false);
    shown
}

/// The text between two lines that contain the key. The key must be random and new, so that the text cannot
/// contain it. Ends with a newline.
pub fn fenced(text: &str, key: &str) -> String {
    let text = visible(text);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("--- output {key}\n{text}{end}--- end of output {key}\n")
}

/// Makes text of others safe for a terminal. Characters that would act instead of being shown are escaped, so
/// that a command or a name cannot move the cursor or set a title. Newlines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| is_shown(c) || matches!(c, '\n' | '\t');
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_kept(c) {
            true => shown.push(c),
            false => push_escape(&mut shown, c),
        }
    }
    Cow::Owned(shown)
}

/// Whether a character only shows itself: it begins no line, moves nothing, and hides nothing.
pub fn is_shown(c: char) -> bool {
    let acts = matches!(
        c,
        // Unicode's own ends of lines and paragraphs.
        '\u{2028}' | '\u{2029}'
        // Marks that reorder the text around them.
        | '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Characters without a width, and a whole invisible alphabet. Those that join emoji are shown.
        | '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        // Letters that are drawn as a blank.
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
    );
    !acts && !c.is_control()
}

fn push_line(quoted: &mut String, text: &str, is_kept: impl Fn(char) -> bool) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '<' if chars.peek().is_some_and(|next| begins_tag(*next)) => quoted.push(OPENING),
            _ if is_shown(c) || is_kept(c) => quoted.push(c),
            _ => push_escape(quoted, c),
        }
    }
}

/// Whether `<` and this character can be the beginning of a tag.
fn begins_tag(next: char) -> bool {
    next.is_alphabetic() || matches!(next, '/' | '!' | '?' | '|')
}

fn push_escape(text: &mut String, c: char) {
    match c {
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        c if u32::from(c) < 0x100 => text.push_str(&format!("\\x{:02x}", u32::from(c))),
        c => text.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

#[cfg(test)]
mod tests;
