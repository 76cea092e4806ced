//! The value of an assignment: where it starts and ends, and whether it is a secret, a placeholder for one, or a word
//! of prose or code.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use super::code::is_phrase;
use super::marker_len;

/// Values that are words about secrets, or types.
const PLAIN: &str = "\
    none null true false undefined empty unset required optional enabled disabled basic \
    bearer digest negotiate string boolean number integer bytes object option options \
    argument flag found missing invalid expired valid wrong incorrect failed failure success \
    succeeded error rejected accepted authentication authorization must with from requires \
    redacted masked value this that expected";

/// Beginnings of file paths. Some secrets also start with a slash.
const ROOTS: &str = "\
    ./ ../ ~/ /home/ /root/ /etc/ /run/ /var/ /tmp/ /usr/ /opt/ /mnt/ /srv/ /dev/ /proc/ \
    /app/ /work /data/ /Users/ /secrets/ /private/";

/// A shorter value is not a secret.
const MIN_VALUE: usize = 4;

/// More space than this between a name and its value is not an assignment.
const MAX_SPACE: usize = 64;

/// A longer name is not the name of a field in a form.
const MAX_FIELD: usize = 64;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Separator {
    Equals,
    Colon,
    /// The space after `--password`.
    Space,
}

/// A name with its value, as written.
pub(super) struct Assignment<'l> {
    pub(super) line: &'l str,
    pub(super) name: Range<usize>,
    /// Whether the name is in quotes.
    is_quoted_name: bool,
    pub(super) separator: Separator,
    /// Whether the value is in quotes.
    is_quoted: bool,
    pub(super) value: Range<usize>,
}

impl<'l> Assignment<'l> {
    /// Reads what follows the name, if it is a separator and a value.
    pub(super) fn read(line: &'l str, name: Range<usize>) -> Option<Self> {
        let rest = Cursor {
            text: line,
            at: name.end,
        };
        let (rest, closing) = rest.quote();
        let (rest, separator) = match &line[name.clone()] {
            option if option.starts_with("--") && closing.is_none() => rest
                .eat(" ")
                .filter(|rest| !rest.rest().starts_with([' ', '-', '=', '|', '&']))
                .map(|rest| (rest, Separator::Space))
                .or_else(|| rest.separator())?,
            _ => rest.separator()?,
        };
        let (rest, quote) = rest.quote();
        let mut found = Self {
            line,
            is_quoted_name: closing.is_some(),
            separator,
            is_quoted: quote.is_some(),
            value: rest.at..line.len(),
            name,
        };
        let len = match quote {
            Some(quote) => quoted_len(rest.rest(), &quote),
            None => found.bare_len(rest.rest()),
        };
        found.value.end = rest.at + len;
        Some(found)
    }

    /// Whether the value must be redacted. `kind` says what the name stands for.
    pub(super) fn is_secret(&self, kind: &str) -> bool {
        let value = &self.line[self.value.clone()];
        if self.is_in_address() || self.is_demanded(value) {
            return false;
        }
        if let Some(tail) = tail_after_marker(value) {
            return tail >= MIN_VALUE;
        }
        let is_strong = matches!(kind, "password" | "passphrase" | "secret");
        if value.len() < MIN_VALUE {
            return is_strong
                && self.is_in_form()
                && value.bytes().all(|b| b.is_ascii_alphanumeric());
        }
        // The quotation mark that seems to open the value closes the text that contains the name.
        let is_behind_text = self.is_quoted && value.starts_with([',', ')', ']', ';']);
        let is_kept = is_behind_text
            || self.is_match_arm()
            || is_placeholder(value)
            || is_file(value)
            || !is_strong && (is_number(value) || is_prose(value) && !self.is_upper())
            || !self.is_quoted
                && self.separator != Separator::Space
                && self.is_code(value, is_strong);
        !is_kept
            && match self.separator {
                _ if matches!(kind, "auth" | "credential") => {
                    looks_random(value) && self.separator != Separator::Space
                }
                Separator::Equals => true,
                Separator::Space => !is_option_prose(value),
                Separator::Colon if is_strong && has_digit_and_letter(value) => true,
                Separator::Colon => looks_random(value) || self.is_structured(),
            }
    }

    /// Whether it is a field of a form: `user=bob&password=…&city=Rome`.
    fn is_in_form(&self) -> bool {
        let is_followed = is_field(&self.line[self.value.end..]);
        self.separator == Separator::Equals && (self.is_later_field() || is_followed)
    }

    fn is_later_field(&self) -> bool {
        self.line[..self.name.start].ends_with(['&', '?', '#'])
    }

    /// Whether the name is a case in a `match`: `Kind::Password => "a password"`.
    fn is_match_arm(&self) -> bool {
        let between = &self.line[self.name.end..self.value.start];
        self.line[..self.name.start].ends_with("::") && between.contains("=>")
    }

    /// Whether the line makes a shell demand a variable: `${PASSWORD:?what to say}`.
    fn is_demanded(&self, value: &str) -> bool {
        value.starts_with('?') && self.line[..self.name.start].ends_with("${")
    }

    /// Whether the name is the user in a URL: `https://x-access-token:…@host`.
    fn is_in_address(&self) -> bool {
        self.separator == Separator::Colon && self.line[..self.name.start].ends_with("://")
    }

    pub(super) fn name(&self) -> &str {
        &self.line[self.name.clone()]
    }

    pub(super) fn is_upper(&self) -> bool {
        !self.name().bytes().any(|b| b.is_ascii_lowercase())
    }

    /// The text before the name, without what may come before the first name in a line.
    fn lead(&self) -> &str {
        let lead = self.line[..self.name.start].trim_end_matches([' ', '\t', '"', '\'', '\\']);
        let lead = lead.trim_start();
        ["export", "declare -x", "set", "-", "+", "ENV", "ARG"]
            .iter()
            .find(|word| lead == **word)
            .map_or(lead, |_| "")
    }

    /// The length of a value without quotes. In a dump of variables, and where a shell would split the line, only a
    /// space ends it. Elsewhere punctuation also ends it.
    fn bare_len(&self, rest: &str) -> usize {
        let is_first = self.lead().is_empty() && !self.is_quoted_name;
        let name = self.name().to_ascii_lowercase();
        let is_phrase = || {
            let is_password = self.separator == Separator::Equals && name.ends_with("password");
            is_password && is_phrase(rest.trim_end())
        };
        if is_first && (name.ends_with("passphrase") || is_phrase()) {
            return rest.trim_end().len();
        }
        let marked = marker_len(rest).unwrap_or(0);
        let is_word = is_first || self.is_upper() || self.separator == Separator::Space;
        let is_end = |b: u8| b <= b' ' || !is_word && b"\"'`,;&()[]{}<>|\\".contains(&b);
        let tail = rest.as_bytes()[marked..].iter();
        let len = marked + tail.take_while(|b| !is_end(**b)).count();
        let field = match self.separator {
            Separator::Equals if self.is_later_field() => memchr(b'&', &rest.as_bytes()[..len]),
            Separator::Equals if !self.is_upper() => next_field(&rest[..len]),
            _ => None,
        };
        if let Some(end) = field {
            return end;
        }
        if marked == len || is_first && self.is_upper() || rest.starts_with(['$', '{']) {
            return len;
        }
        marked
            + rest[marked..len]
                .trim_end_matches(['"', '\'', '`', ',', ';', ')', '}'])
                .len()
    }

    /// Whether the name stands where names stand in data, and seldom in prose.
    fn is_structured(&self) -> bool {
        let is_whole = || self.is_quoted || self.line[self.value.end..].trim().len() <= 1;
        match self.lead().chars().next_back() {
            None => self.is_quoted_name || is_whole(),
            Some(before) => self.is_quoted_name || "{,([;&?".contains(before),
        }
    }
}

/// A position in a line.
#[derive(Clone, Copy)]
struct Cursor<'l> {
    text: &'l str,
    at: usize,
}

/// A quotation mark, and the number of backslashes before it.
struct Quote {
    mark: u8,
    escapes: usize,
}

impl<'l> Cursor<'l> {
    fn rest(self) -> &'l str {
        &self.text[self.at..]
    }

    fn eat(self, what: &str) -> Option<Self> {
        let at = self.at + what.len();
        self.rest().starts_with(what).then_some(Self { at, ..self })
    }

    fn skip_space(self) -> Option<Self> {
        let spaces = self.rest().bytes().take_while(|b| b" \t".contains(b));
        let len = spaces.take(MAX_SPACE + 1).count();
        (len <= MAX_SPACE).then_some(Self {
            at: self.at + len,
            ..self
        })
    }

    fn quote(self) -> (Self, Option<Quote>) {
        let rest = self.rest().as_bytes();
        let escapes = rest.iter().take(16).take_while(|b| **b == b'\\').count();
        match rest.get(escapes) {
            Some(&mark @ (b'"' | b'\'')) => (
                Self {
                    at: self.at + escapes + 1,
                    ..self
                },
                Some(Quote { mark, escapes }),
            ),
            _ => (self, None),
        }
    }

    /// Skips `=`, `:`, `:=` or `=>` and the spaces around it.
    fn separator(self) -> Option<(Self, Separator)> {
        let start = self.eat("]").unwrap_or(self).skip_space()?;
        let (rest, separator) = if let Some(rest) = start.eat("=>").or_else(|| start.eat(":=")) {
            (rest, Separator::Equals)
        } else if let Some(rest) = start.eat("=") {
            (rest, Separator::Equals)
        } else {
            (start.eat(":")?, Separator::Colon)
        };
        let is_operator = rest.rest().starts_with(['=', '~', ':', '>']);
        let is_url = separator == Separator::Colon && rest.rest().starts_with("//");
        if is_operator || is_url {
            return None;
        }
        Some((rest.skip_space()?, separator))
    }
}

/// The length of the value after an opening quotation mark. `rest` starts after the mark.
fn quoted_len(rest: &str, quote: &Quote) -> usize {
    let mut backslashes = 0;
    for (i, b) in rest.bytes().enumerate() {
        if b == b'\\' {
            backslashes += 1;
            continue;
        }
        let is_close = match quote.escapes {
            0 => backslashes % 2 == 0,
            escapes => backslashes <= escapes,
        };
        if b == quote.mark && is_close {
            return i - backslashes.min(quote.escapes);
        }
        backslashes = 0;
    }
    rest.len()
}

/// Where the next field of a form starts, if there is one.
fn next_field(text: &str) -> Option<usize> {
    let mut places = memchr_iter(b'&', text.as_bytes());
    places.find(|at| is_field(&text[*at..]))
}

/// Whether `text` starts with a later field of a form: `&city=…`.
fn is_field(text: &str) -> bool {
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"_-.[]%".contains(b);
    text.strip_prefix('&').is_some_and(|rest| {
        let name = rest.bytes().take(MAX_FIELD).take_while(is_name).count();
        name > 0 && rest.as_bytes().get(name) == Some(&b'=')
    })
}

/// The length of the value behind the marker that `value` starts with.
pub(super) fn tail_after_marker(value: &str) -> Option<usize> {
    marker_len(value).map(|len| value.len() - len)
}

/// Whether `value` stands for a secret that is written elsewhere, or for no secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let is_word =
        |s: &str| !s.is_empty() && s.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    let stars = value.bytes().filter(|b| *b == b'*').count();
    let variable = value.strip_prefix('$').is_some_and(|rest| {
        let inner = rest.strip_prefix('{');
        let is_closed = inner.and_then(|inner| inner.strip_suffix('}'));
        // `${NAME:?what to say}`
        let is_demanded = inner.is_some_and(|inner| inner.split_once(":?").is_some());
        is_word(is_closed.unwrap_or(rest))
            || is_demanded
            || rest.starts_with('(')
            || rest.starts_with("{{")
    });
    variable
        || stars * 2 >= value.len()
        || value.bytes().all(|b| b"xX.-#?_ ".contains(&b))
        || value.starts_with('<') && value.ends_with('>')
        || value
            .strip_prefix('%')
            .and_then(|v| v.strip_suffix('%'))
            .is_some_and(is_word)
        || value.starts_with('{')
            && value
                .trim_end_matches(['"', '\'', ')', ']', ',', ';'])
                .ends_with('}')
        || ["{{", "%s", "%(", "#{", "`"]
            .iter()
            .any(|start| value.starts_with(start))
        || words(PLAIN).any(|plain| plain.eq_ignore_ascii_case(value))
}

/// The words of a table that is written as one string.
pub(super) fn words(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.split_ascii_whitespace()
}

/// Whether `value` is the path of a file.
fn is_file(value: &str) -> bool {
    words(ROOTS).any(|root| value.starts_with(root))
}

/// Whether `value` is a number, perhaps with a unit.
pub(super) fn is_number(value: &str) -> bool {
    if let Some(digits) = value.strip_prefix("0x") {
        return digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    value.len() - digits.len() <= 2
        && digits.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-.,_".contains(&b))
}

/// Whether `value` is words, which no token is.
fn is_prose(value: &str) -> bool {
    value.contains(' ') && !value.bytes().any(|b| b.is_ascii_digit())
}

/// Whether `value` is what follows an option in a usage text, or describes a secret that is stored elsewhere (`docker
/// build --secret id=…`).
fn is_option_prose(value: &str) -> bool {
    let word = value.trim_end_matches([']', ')']);
    let is_metavariable = word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    is_metavariable || value.starts_with(['[', '<']) || value.starts_with("id=")
}

/// Whether `value` is unlikely to be a word.
pub(super) fn looks_random(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().skip(1).any(|b| is(&b));
    value.len() >= 8 && has_digit_and_letter(value)
        || value.len() >= 16 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

fn has_digit_and_letter(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|b| is(&b));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}
