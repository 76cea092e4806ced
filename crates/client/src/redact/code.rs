//! Whether a value without quotes is data or an expression of some programming language.
//!
//! Code names its variables as data names its secrets: `self.token = token`, `const token = await get()`,
//! `connect(password=password)`. In code a literal has quotes. So a value without quotes is an expression if anything
//! else in the line looks like code.

use super::names::parts;
use super::values::{Assignment, Separator, is_number, looks_random, words};

/// Words before the name of a variable that is declared.
const DECLARATIONS: &str =
    "const let var val mut final static auto type local private public my our";

/// Words that appear in expressions.
const OPERATORS: &str = "\
    await async new function yield typeof not lambda self this match unsafe if bool impl dyn or and \
    else in is as for instanceof";

/// Prefixes of values that belong to a program and are no secret of its user.
const OWNERS: &str = "\
    self. this. process.env os.environ os.getenv env. args. config. secrets. var. local. module.";

/// A name with one of these parts is the name of a secret.
const SECRETS: &str = "\
    token tokens password passwords passwd pwd secret secrets credential credentials creds auth oauth \
    key keys passphrase";

/// A bracket that is closed farther away than this is ignored.
const MAX_BRACKET: usize = 256;

impl Assignment<'_> {
    /// Whether `value` is an expression or a type. `is_strong` says that the name is one that only secrets have.
    pub(super) fn is_code(&self, value: &str, is_strong: bool) -> bool {
        let value = value.trim_end_matches([',', ';']);
        let path = path_len(value);
        let is_path = path == value.len();
        let next = self.line[self.value.start + path..].chars().next();
        if !self.is_spaced() {
            let is_argument = matches!(next, Some(',' | ')')) && !self.is_upper();
            let is_owned = is_owned(value) && !self.is_upper();
            return is_owned || is_argument && is_path && is_name_of_secret(value);
        }
        let is_declared = self.is_declared() && !is_unmistakable(value);
        if is_owned(value) || is_declared || self.is_bracketed(self.value.start) {
            return true;
        }
        let rest = self.line[self.value.start + value.len()..].trim_start();
        let is_ended = rest.starts_with([',', ';', ')', '}', ']']);
        match next {
            Some('(' | '[' | '<') if path > 0 => self.is_bracketed(self.value.start + path),
            Some('!') if path > 0 => self.is_bracketed(self.value.start + path + 1),
            _ if is_ended && is_path => is_identifier(value),
            _ if is_ended && is_number(value) => true,
            _ if is_path => self.is_expression(value, rest, is_strong),
            _ => {
                value.starts_with('&')
                    || value.starts_with(['*', '!']) && is_identifier(&value[1..])
            }
        }
    }

    /// Whether a path is an expression. `rest` is what follows it in the line.
    fn is_expression(&self, value: &str, rest: &str, is_strong: bool) -> bool {
        if words(OPERATORS).any(|word| word == value) || value.contains("::") {
            return true;
        }
        let is_comment = rest.starts_with(['#', ';']) || rest.starts_with("//");
        if rest.is_empty() || is_comment {
            let is_dotted = value.contains('.') && !value.bytes().any(|b| b.is_ascii_digit());
            let is_name = is_name_of_secret(value);
            let is_other = is_dotted && is_name || !is_strong && (is_dotted || is_name);
            return is_other || self.has_its_name(value);
        }
        let goes_on = match self.separator {
            Separator::Equals => true,
            Separator::Colon => rest.starts_with(['=', '|', '&', '?', '+']),
            Separator::Space => false,
        };
        goes_on && (is_name_of_secret(value) || !looks_random(value))
    }

    fn is_spaced(&self) -> bool {
        self.line[..self.value.start].ends_with([' ', '\t'])
    }

    /// Whether the name is declared here, is the type of a declaration, or is a field of an object.
    fn is_declared(&self) -> bool {
        let name = self.name();
        let last = self.line[..self.name.start].split_whitespace().next_back();
        let is_word = |last: &str| words(DECLARATIONS).any(|word| word == last);
        let is_type = |last: &str| last.ends_with(':') && self.separator == Separator::Equals;
        ["self.", "this.", "cls."]
            .iter()
            .any(|owner| name.starts_with(owner))
            || last.is_some_and(|last| is_word(last) || is_type(last))
    }

    /// Whether there is a bracket at this position that is closed in the line, or whose content goes on in the next
    /// line.
    fn is_bracketed(&self, at: usize) -> bool {
        let rest = &self.line[at..];
        let rest = &rest[..rest.floor_char_boundary(MAX_BRACKET)];
        let close = match rest.chars().next() {
            Some('(') => ')',
            Some('[') => ']',
            Some('{') => '}',
            Some('<') => '>',
            _ => return false,
        };
        rest.contains(close) || rest.trim_end().ends_with(['(', '[', '{', '<', ','])
    }

    /// Whether the value consists of parts of the name: `db_password = password`, `user.home_dir = homeDir`.
    fn has_its_name(&self, value: &str) -> bool {
        let name = parts(self.name());
        let is_own = parts(value).iter().all(|part| name.contains(part));
        let is_reference = self.name().contains('.') || is_name_of_secret(value);
        is_own && is_reference && !self.is_upper()
    }
}

/// Whether `text` is a phrase of words, and not an expression.
pub(super) fn is_phrase(text: &str) -> bool {
    let is_plain = |word: &str| {
        let is_operator = words(OPERATORS).any(|operator| operator == word);
        word.bytes().all(|b| b.is_ascii_alphabetic()) && !is_operator
    };
    text.contains(' ') && text.split_ascii_whitespace().all(is_plain)
}

fn is_owned(value: &str) -> bool {
    words(OWNERS).any(|owner| value.starts_with(owner))
}

/// The length of the path that `value` starts with: names with `.` or `::` between them.
fn path_len(value: &str) -> usize {
    let is_path = |b: &u8| b.is_ascii_alphanumeric() || b"_.:".contains(b);
    match value.bytes().next() {
        Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
            value.bytes().take_while(is_path).count()
        }
        _ => 0,
    }
}

/// Whether no program would use `value` as the name of a variable.
fn is_unmistakable(value: &str) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    count(u8::is_ascii_alphanumeric) == value.len()
        && value.len() >= 20
        && count(u8::is_ascii_digit) >= 4
        && count(u8::is_ascii_uppercase) >= 4
}

/// Whether a path is the name of a variable or a type, and not a password that contains a digit.
fn is_identifier(path: &str) -> bool {
    let is_type = |part: &str| {
        let digits = part.trim_start_matches(['u', 'i', 'f']);
        digits.len() + 1 == part.len() && ["8", "16", "32", "64", "128"].contains(&digits)
    };
    let has_digit = path.bytes().any(|b| b.is_ascii_digit());
    let is_field = || path.split_once('.').is_some() && has_secret_word(path);
    path_len(path) == path.len()
        && (!has_digit
            || path.starts_with('_')
            || path.contains("::")
            || is_type(path)
            || is_field())
}

/// Whether a path is the name of another secret.
fn is_name_of_secret(path: &str) -> bool {
    !path.bytes().any(|b| b.is_ascii_digit()) && has_secret_word(path)
}

fn has_secret_word(path: &str) -> bool {
    let is_secret = |part: &String| words(SECRETS).any(|word| word == part);
    parts(path).iter().any(is_secret)
}
