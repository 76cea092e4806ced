//! The line on which an answer stands in the text that a place returns.
//!
//! ```text
//!  <<outlive LENGTH DIGEST BASE64>>
//! ```
//! Around it may stand anything: greetings of login scripts, errors, the words of whoever ran the command. The place may
//! return only a part of the text, and it may change what is not plain. So the line says how many bytes it holds (before
//! they became base64) and the first 8 digits of their SHA-256, and what does not agree is no answer.

use super::base64;
use sha2::{Digest, Sha256};
use std::fmt::Write;

const BEGIN: &[u8] = b"<<outlive ";
const END: &[u8] = b">>";

/// What stands around the base64, at most: the line ends, the markers, a length of 8 digits, the digest.
const AROUND: usize = 2 + BEGIN.len() + 8 + 1 + 8 + 1 + END.len();

/// Longer payloads are not believed before memory is taken for them.
const MAX_PAYLOAD: usize = 16 * 1024 * 1024;

/// How many bytes fit on a line that is so long, with its line ends.
pub const fn room(line: usize) -> usize {
    base64::fitting(line.saturating_sub(AROUND))
}

/// The line that holds these bytes, between two line ends.
pub fn line(payload: &[u8]) -> String {
    let (length, digest) = (payload.len(), digest(payload));
    let text = base64::encode(payload);
    format!("\n<<outlive {length} {digest} {text}>>\n")
}

/// Every payload that stands whole in a text, in order.
pub fn find(text: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(begin) = memchr::memmem::find(rest, BEGIN) {
        rest = &rest[begin + BEGIN.len()..];
        if let Some((payload, used)) = payload(rest) {
            found.push(payload);
            rest = &rest[used..];
        }
    }
    found
}

/// Whether a line begins in this text. If none stands whole in it, the text was cut or damaged.
pub fn begins(text: &[u8]) -> bool {
    memchr::memmem::find(text, BEGIN).is_some()
}

/// The payload of a line, after its beginning; and how many bytes the rest of the line has.
fn payload(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (length, rest) = word(text)?;
    let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
    let (expected, rest) = word(rest)?;
    if length > MAX_PAYLOAD {
        return None;
    }
    let end = memchr::memmem::find(rest, END)?;
    let payload = base64::decode(&rest[..end])?;
    let is_whole = payload.len() == length && digest(&payload).as_bytes() == expected;
    is_whole.then(|| (payload, text.len() - rest.len() + end + END.len()))
}

/// A short word, and what follows its space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const LONGEST: usize = 8;
    let space = text
        .iter()
        .take(LONGEST + 1)
        .position(|byte| *byte == b' ')?;
    Some((&text[..space], &text[space + 1..]))
}

/// The first 8 digits of the SHA-256.
fn digest(payload: &[u8]) -> String {
    let mut digits = String::new();
    for byte in &Sha256::digest(payload)[..4] {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_in_any_noise() {
        let payload = b"\0\xffbytes\n<<outlive 1 2 3>>";
        let text = line(payload);
        assert!(text.len() <= AROUND + base64::length(payload.len()));
        for (before, after) in [
            ("", ""),
            ("Welcome to box\nno line end", "logout"),
            ("<<outlive ", ">>"),
            ("<<outlive 5 deadbeef aGVsbG8=>>", "<<outlive 3"),
            ("\u{1b}[31m", "\u{1b}[0m\r\n"),
        ] {
            let noisy = format!("{before}{text}{after}");
            assert_eq!(find(noisy.as_bytes()), [payload], "{noisy:?}");
        }
        let (head, tail) = text.trim().split_at(30);
        let wrapped = format!("{head}\r\n{tail}");
        assert_eq!(find(wrapped.as_bytes()), [payload], "{wrapped}");
    }

    #[test]
    fn what_was_cut_or_changed_is_no_answer() {
        let text = line(&[7; 100]);
        let trimmed = text.trim();
        for end in 0..trimmed.len() {
            assert!(find(&trimmed.as_bytes()[..end]).is_empty(), "cut at {end}");
        }
        for at in 0..trimmed.len() {
            let mut changed = trimmed.as_bytes().to_vec();
            changed[at] ^= 1;
            let found = find(&changed);
            assert!(found.is_empty(), "changed at {at}: {found:?}");
        }
        let middle = format!("{}\n[... 40 characters ...]\n{}", &text[..50], &text[90..]);
        assert!(find(middle.as_bytes()).is_empty());
        assert!(begins(middle.as_bytes()));
    }

    #[test]
    fn answers_that_stand_twice_are_found_twice() {
        let text = line(b"one") + &line(b"two") + &line(b"one");
        assert_eq!(find(text.as_bytes()), [b"one", b"two", b"one"]);
    }

    #[test]
    fn what_has_room_fits() {
        for limit in [64, 100, 1000, 16 * 1024] {
            assert!(line(&vec![0; room(limit)]).len() <= limit);
        }
        assert_eq!(room(0), 0);
    }
}
