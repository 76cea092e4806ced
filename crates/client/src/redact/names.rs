//! Values whose name says that they are secret: `DB_PASSWORD=…`, `"apiKey": "…"`,
//! `export TOKEN=…`, `--client-secret …`.
//!
//! A keyword is a part of a name. The whole name is taken, split into its parts (`dbPassword`, `DB_PASSWORD` and
//! `db-password` have the same two), and judged by them. Then the value is judged, because prose and code are full of
//! such names: `token: 12`, `unexpected token: foo`, `token = next_token();` and `TOKEN=$OTHER` stay.

use std::ops::Range;

use super::Span;
use super::values::{Assignment, words};

/// A name that contains none of these is not the name of a secret.
pub(super) const KEYWORDS: [&str; 21] = [
    "secret",
    "token",
    "passw",
    "passphrase",
    "_pass",
    "_pwd",
    "-pwd",
    "dbpass",
    "sshpass",
    "apikey",
    "_key",
    "-key",
    ".key",
    "accesskey",
    "privatekey",
    "sessionkey",
    "signingkey",
    "masterkey",
    "accountkey",
    "credential",
    "auth",
];

/// A part of a name that ends with one of these makes it the name of a secret.
const ENDINGS: [(&str, &str); 12] = [
    ("password", "password"),
    ("passwd", "password"),
    ("dbpass", "password"),
    ("sshpass", "password"),
    ("passphrase", "passphrase"),
    ("secret", "secret"),
    ("token", "token"),
    ("apikey", "api-key"),
    ("secretkey", "secret"),
    ("accesskey", "access-key"),
    ("privatekey", "private-key"),
    ("accountkey", "access-key"),
];

/// A whole part of a name that is one of these makes it the name of a secret.
const PARTS: [(&str, &str); 6] = [
    ("passwords", "password"),
    ("secrets", "secret"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("auth", "auth"),
    ("oauth", "auth"),
];

/// A part of a name that is one of these, before `key`, makes it the name of a secret.
const KEYS: [(&str, &str); 10] = [
    ("api", "api-key"),
    ("access", "access-key"),
    ("private", "private-key"),
    ("session", "session-key"),
    ("signing", "signing-key"),
    ("encryption", "encryption-key"),
    ("master", "master-key"),
    ("account", "access-key"),
    ("shared", "shared-key"),
    ("auth", "auth"),
];

/// If the last part of a name is one of these, its value is about a secret but is none.
const ABOUT: &str = "\
    file files path paths dir sock socket fd count limit ttl type length len size expires \
    expiry expiration timeout url uri endpoint host port name enabled required method mode \
    stdin env user username provider scheme policy version status arn at index number start end \
    location span kind result results available error errors failure message prompt label \
    placeholder hint help regex pattern format field column form hdr ref selector";

/// A longer text is not a name.
const MAX_NAME: usize = 128;

/// A value that is not redacted is searched for names unless it is longer than this. Names inside names would take
/// quadratic time.
const MAX_NESTED: usize = 4096;

/// Checks the name that contains the keyword at `hit`. Names start at `floor` or later. Returns where to search for
/// the next name.
pub(super) fn find(line: &str, hit: Range<usize>, floor: usize, spans: &mut Vec<Span>) -> usize {
    let bytes = line.as_bytes();
    let before = bytes[floor..hit.start].iter().rev();
    let start = hit.start - before.take_while(|b| is_name_byte(**b)).count();
    let after = bytes[hit.end..].iter();
    let end = hit.end + after.take_while(|b| is_name_byte(**b)).count();
    let Some(found) = Assignment::read(line, start..end) else {
        return end;
    };
    let value = found.value.clone();
    match classify(&line[start..end]) {
        Some(kind) if found.is_secret(kind) => {
            spans.push(Span {
                start: value.start,
                keep: value.start,
                end: value.end,
                kind,
            });
            value.end
        }
        _ if value.len() > MAX_NESTED => value.end,
        _ => end,
    }
}

fn is_name_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-.".contains(&b)
}

/// The kind of secret that a value of this name is.
fn classify(name: &str) -> Option<&'static str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let parts = parts(name);
    let last = parts.last()?;
    if words(ABOUT).any(|about| about == last) {
        return None;
    }
    let mut weak = None;
    for (i, part) in parts.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| parts[i].as_str());
        let kind = kind_of(before, part);
        if kind == Some("auth") {
            weak = kind;
        } else if kind.is_some() {
            return kind;
        }
    }
    weak
}

fn kind_of(before: Option<&str>, part: &str) -> Option<&'static str> {
    let find = |table: &[(&str, &'static str)], is: &dyn Fn(&str) -> bool| {
        table
            .iter()
            .find(|(word, _)| is(word))
            .map(|(_, kind)| *kind)
    };
    match (part, before) {
        ("key" | "keys", Some(before)) => find(&KEYS, &|word| word == before),
        ("pass" | "pwd", Some(_)) => Some("password"),
        _ => find(&PARTS, &|word| word == part)
            .or_else(|| find(&ENDINGS, &|word| part.ends_with(word))),
    }
}

/// The parts of a name in lower case. It is split at punctuation and at capitals.
pub(super) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut last = b'_';
    for b in name.bytes() {
        let is_cut =
            !b.is_ascii_alphanumeric() || last.is_ascii_lowercase() && b.is_ascii_uppercase();
        if is_cut && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if let (true, Some(part)) = (b.is_ascii_alphanumeric(), parts.last_mut()) {
            part.push(char::from(b.to_ascii_lowercase()));
        }
        last = b;
    }
    parts.retain(|part| !part.is_empty());
    parts
}
