//! Text without escape sequences.
//!
//! Control sequences (`ESC [`), strings (`ESC ]` and similar, up to BEL or ST) and short escapes are removed. No
//! sequence continues behind a newline or a carriage return: an unfinished one ends there. So newlines stay where they
//! are, and one stray ESC spoils at most one line.

const ESC: u8 = 0x1b;

/// Whether there is anything to remove.
pub fn has_escapes(bytes: &[u8]) -> bool {
    memchr::memchr(ESC, bytes).is_some()
}

/// Pieces between escapes are short. Copying them in steps of this size is faster than one call for each.
const STEP: usize = 32;

/// Writes the text of some lines to `into`, replacing its content.
pub fn strip(bytes: &[u8], into: &mut Vec<u8>) {
    // The last step may write behind its piece. These bytes are overwritten or cut off.
    into.resize(bytes.len() + STEP, 0);
    let (mut from, mut to) = (0, 0);
    while let Some(length) = memchr::memchr(ESC, &bytes[from..]) {
        copy(&bytes[from..], &mut into[to..], length);
        to += length;
        from += length + 1;
        from += sequence(&bytes[from..]);
    }
    let rest = &bytes[from..];
    into[to..to + rest.len()].copy_from_slice(rest);
    into.truncate(to + rest.len());
}

/// Copies `length` bytes, and perhaps a few more.
fn copy(bytes: &[u8], into: &mut [u8], length: usize) {
    let steps = length.div_ceil(STEP);
    match bytes.get(..steps * STEP) {
        Some(bytes) => {
            let (bytes, into) = (bytes.as_chunks().0, into.as_chunks_mut().0);
            for (step, into) in bytes.iter().zip(into) {
                let (step, into): (&[u8; STEP], &mut [u8; STEP]) = (step, into);
                *into = *step;
            }
        }
        None => into[..length].copy_from_slice(&bytes[..length]),
    }
}

/// How many bytes after an ESC belong to it.
fn sequence(after: &[u8]) -> usize {
    match after.first() {
        Some(b'[') => 1 + parameters(&after[1..], 0x20..=0x3f, 0x40..=0x7e),
        // `k` sets the title of a screen or tmux window.
        Some(b']' | b'P' | b'X' | b'^' | b'_' | b'k') => string(after),
        _ => parameters(after, 0x20..=0x2f, 0x30..=0x7e),
    }
}

/// How many bytes the sequence has: any number of the first range, then at most one of the second. Another byte is text.
fn parameters(
    bytes: &[u8],
    middle: std::ops::RangeInclusive<u8>,
    last: std::ops::RangeInclusive<u8>,
) -> usize {
    let count = bytes
        .iter()
        .take_while(|byte| middle.contains(byte))
        .count();
    count + usize::from(bytes.get(count).is_some_and(|byte| last.contains(byte)))
}

/// How many bytes the string has, including BEL, CAN or SUB at its end. An ESC ends it, too: it begins the terminator
/// (ST) or another sequence.
fn string(bytes: &[u8]) -> usize {
    let ends = |byte: &u8| matches!(*byte, 0x07 | 0x18 | 0x1a | ESC | b'\n' | b'\r');
    let count = bytes.iter().position(ends).unwrap_or(bytes.len());
    count + usize::from(matches!(bytes.get(count), Some(0x07 | 0x18 | 0x1a)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> String {
        let mut into = b"what was there".to_vec();
        strip(text.as_bytes(), &mut into);
        String::from_utf8(into).expect("text")
    }

    #[test]
    fn sequences_are_removed_and_text_stays() {
        for (raw, text) in [
            ("plain", "plain"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("a\x1b[?25lb", "ab"),
            ("\x1b[ qx", "x"),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1bPq#0\x1b\\x", "x"),
            ("\x1bktitle\x1b\\x", "x"),
            ("\x1b(Bx\x1b7y\x1b=z", "xyz"),
            ("\x1b\x1b[mx", "x"),
            ("x\x1b", "x"),
            ("x\x1b[31", "x"),
            ("\x1b[31\ny", "\ny"),
            ("\x1b]0;title\ny", "\ny"),
            ("\x1b]0;title\ry", "\ry"),
            ("\x1b\ny", "\ny"),
            ("\x1b[3é", "é"),
        ] {
            assert_eq!(stripped(raw), text, "{raw:?}");
        }
    }
}
