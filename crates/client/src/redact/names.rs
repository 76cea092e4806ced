//! Values whose name says that they are secret: `DB_PASSWORD=…`, `"apiKey": "…"`,
//! `export TOKEN=…`, `--client-secret …`.
//!
//! From a keyword the whole name is taken, cut into its parts (`dbPassword`,
//! `DB_PASSWORD` and `db-password` are the same two), and judged by them. Then
//! the value is judged, since prose and code are full of such names: `token: 12`,
//! `unexpected token: foo`, `token = next_token();` and `TOKEN=$OTHER` stay.

use std::ops::Range;

use super::Span;
use super::values::{Assignment, words};

/// A name without any of these is not secret.
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

/// What a part of a name may end with to make the name secret.
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

/// What a whole part may be to make the name secret.
const PARTS: [(&str, &str); 6] = [
    ("passwords", "password"),
    ("secrets", "secret"),
    ("credential", "credential"),
    ("credentials", "credential"),
    ("auth", "auth"),
    ("oauth", "auth"),
];

/// What may stand before `key` to make the name secret.
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

/// Last parts of names that say something about a secret, and are none.
const ABOUT: &str = "\
    file files path paths dir sock socket fd count limit ttl type length len size expires \
    expiry expiration timeout url uri endpoint host port name enabled required method mode \
    stdin env user username provider scheme policy version status arn at index number start end \
    location span kind result results available error errors failure message prompt label \
    placeholder hint help regex pattern format field column form hdr ref selector";

/// A name this long is not one.
const MAX_NAME: usize = 128;

/// A value that was left alone is looked into for names unless it is longer, as
/// names inside names would take quadratic time.
const MAX_NESTED: usize = 4096;

/// Looks at the name that has a keyword at `hit`, where names start no earlier
/// than `floor`. Returns where to look for the next one.
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

/// What kind of secret a value of this name is.
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

/// The words of a name in lower case, cut at punctuation and at capitals.
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
