//! What a rule is, and how it finds its secrets in a line. The rules themselves are in `table.rs`.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memchr;
use regex::Regex;

use super::Span;

/// One kind of secret, in one shape.
pub(super) struct Rule {
    /// The kind that the marker names.
    pub(super) kind: &'static str,
    /// A line that contains none of these cannot match.
    pub(super) keywords: &'static [&'static str],
    pub(super) case: Case,
    pub(super) shape: Shape,
    /// A line that does not contain this byte cannot match. For rules whose keywords are common.
    needs: u8,
    /// Whether a match is a secret and not something else of the same shape.
    is_secret: fn(&str) -> bool,
    /// A text that matches, with placeholders for invented characters.
    #[cfg(test)]
    pub(super) example: &'static str,
    /// A text that is similar and must not match.
    #[cfg(test)]
    pub(super) near_miss: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Case {
    Exact,
    Ignored,
}

pub(super) enum Shape {
    /// One of the keywords, which is public, followed by at least `min` characters of the alphabet.
    Token {
        alphabet: Alphabet,
        min: usize,
        shown: Prefix,
    },
    /// An expression. The last group that takes part in a match is the secret. If another does, the first
    /// is the public prefix.
    Pattern {
        text: &'static str,
        regex: OnceLock<Regex>,
    },
}

/// What becomes of a token's keyword.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Prefix {
    Kept,
    Hidden,
}

/// The characters a token is made of.
#[derive(Clone, Copy)]
pub(super) enum Alphabet {
    Hex,
    Upper,
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// The same and `-`: base64 for URLs.
    Dash,
    /// The same, `.` and `=`.
    Dot,
    Base64,
    /// The characters in which password hashes are written.
    Hash,
}

impl Alphabet {
    fn has(self, b: u8) -> bool {
        let others: &[u8] = match self {
            Alphabet::Hex => return b.is_ascii_hexdigit(),
            Alphabet::Upper => return b.is_ascii_uppercase() || b.is_ascii_digit(),
            Alphabet::Alnum => b"",
            Alphabet::Word => b"_",
            Alphabet::Dash => b"_-",
            Alphabet::Dot => b"_-.=",
            Alphabet::Base64 => b"+/=_-",
            Alphabet::Hash => b"./$=,+_-",
        };
        b.is_ascii_alphanumeric() || others.contains(&b)
    }
}

impl Rule {
    const fn new(kind: &'static str, keywords: &'static [&'static str], shape: Shape) -> Self {
        Self {
            kind,
            keywords,
            case: Case::Exact,
            shape,
            needs: 0,
            is_secret: |_| true,
            #[cfg(test)]
            example: "",
            #[cfg(test)]
            near_miss: "",
        }
    }

    /// A token that starts with one of `prefixes`.
    pub(super) const fn token(
        kind: &'static str,
        prefixes: &'static [&'static str],
        alphabet: Alphabet,
        min: usize,
    ) -> Self {
        let shown = Prefix::Kept;
        let shape = Shape::Token {
            alphabet,
            min,
            shown,
        };
        Self::new(kind, prefixes, shape)
    }

    /// The same, but the prefix is hidden, too.
    pub(super) const fn whole(
        kind: &'static str,
        prefixes: &'static [&'static str],
        alphabet: Alphabet,
        min: usize,
    ) -> Self {
        let shown = Prefix::Hidden;
        let shape = Shape::Token {
            alphabet,
            min,
            shown,
        };
        Self::new(kind, prefixes, shape)
    }

    pub(super) const fn pattern(
        kind: &'static str,
        keywords: &'static [&'static str],
        text: &'static str,
    ) -> Self {
        let regex = OnceLock::new();
        Self::new(kind, keywords, Shape::Pattern { text, regex })
    }

    pub(super) const fn any_case(mut self) -> Self {
        self.case = Case::Ignored;
        self
    }

    pub(super) const fn needs(mut self, byte: u8) -> Self {
        self.needs = byte;
        self
    }

    pub(super) const fn only_if(mut self, is_secret: fn(&str) -> bool) -> Self {
        self.is_secret = is_secret;
        self
    }

    /// Sets what the rule should match and what it should not. A test checks every row of the table with these.
    #[cfg(test)]
    pub(super) const fn like(mut self, example: &'static str, near_miss: &'static str) -> Self {
        self.example = example;
        self.near_miss = near_miss;
        self
    }

    #[cfg(not(test))]
    pub(super) const fn like(self, _: &'static str, _: &'static str) -> Self {
        self
    }

    /// Checks the token whose prefix is at `at`. Returns how far the check has read.
    pub(super) fn find_token(&self, line: &str, at: Range<usize>, spans: &mut Vec<Span>) -> usize {
        let Shape::Token {
            alphabet,
            min,
            shown,
        } = self.shape
        else {
            return at.end;
        };
        if !is_word_start(line.as_bytes(), at.start) {
            return at.end;
        }
        let body = line.as_bytes()[at.end..].iter();
        let len = body.take_while(|b| alphabet.has(**b)).count();
        let end = at.end + len;
        if len >= min && (self.is_secret)(&line[at.end..end]) {
            spans.push(Span {
                start: at.start,
                keep: match shown {
                    Prefix::Kept => at.end,
                    Prefix::Hidden => at.start,
                },
                end,
                kind: self.kind,
            });
        }
        end
    }

    /// Searches the whole line for the expression.
    pub(super) fn find_pattern(&self, line: &str, spans: &mut Vec<Span>) {
        let Shape::Pattern { text, regex } = &self.shape else {
            return;
        };
        if self.needs != 0 && memchr(self.needs, line.as_bytes()).is_none() {
            return;
        }
        let regex = regex.get_or_init(|| Regex::new(text).expect("a constant expression"));
        for found in regex.captures_iter(line) {
            let mut groups = found.iter().skip(1).flatten();
            let Some(first) = groups.next() else {
                continue;
            };
            let secret = groups.last().unwrap_or(first);
            let is_prefixed = first.start() < secret.start();
            if (self.is_secret)(secret.as_str()) {
                spans.push(Span {
                    start: first.start(),
                    keep: match is_prefixed {
                        true => first.end(),
                        false => first.start(),
                    },
                    end: secret.end(),
                    kind: self.kind,
                });
            }
        }
    }
}

/// Whether a word can start at `at`: `task-…` has no `sk-…` in it, but `\nsk-…` and `%3Dsk-…` do.
fn is_word_start(line: &[u8], at: usize) -> bool {
    let is_alnum = |at: usize| line.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let before = |count: usize| at.checked_sub(count).map(|at| line[at]);
    let is_escape = before(2) == Some(b'\\') || before(3) == Some(b'%');
    at == 0 || !is_alnum(at) || !is_alnum(at - 1) || is_escape
}
