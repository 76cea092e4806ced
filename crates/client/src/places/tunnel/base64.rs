//! Bytes as text that survives any command line, shell and terminal.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How many letters so many bytes take.
pub const fn length(bytes: usize) -> usize {
    bytes.div_ceil(3) * 4
}

/// How many bytes fit into so many letters.
pub const fn fitting(letters: usize) -> usize {
    letters / 4 * 3
}

pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(length(bytes.len()));
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for letter in 0..4 {
            match letter <= group.len() {
                true => {
                    let index = bits >> (18 - 6 * letter) & 0x3f;
                    text.push(char::from(ALPHABET[index as usize]));
                }
                false => text.push('='),
            }
        }
    }
    text
}

/// The bytes of a text. Space between the letters is skipped, because whoever carries the text may have wrapped it. `None`
/// if it is anything else than [`encode`] makes.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(fitting(text.len()));
    let (mut bits, mut letters, mut padding) = (0u32, 0, 0);
    for letter in text.iter().filter(|letter| !letter.is_ascii_whitespace()) {
        let value = match (letter, value_of(*letter)) {
            (b'=', _) => {
                padding += 1;
                0
            }
            // Nothing follows the padding.
            (_, Some(value)) if padding == 0 => value,
            _ => return None,
        };
        bits = bits << 6 | value;
        letters += 1;
        if letters % 4 == 0 {
            let group = bits.to_be_bytes();
            let kept = 3usize.checked_sub(padding).filter(|kept| *kept > 0)?;
            // One text for each sequence of bytes.
            if group[1 + kept..].iter().any(|byte| *byte != 0) {
                return None;
            }
            bytes.extend_from_slice(&group[1..=kept]);
            bits = 0;
        }
    }
    (letters % 4 == 0 && padding <= 2).then_some(bytes)
}

fn value_of(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&all).as_bytes()), Some(all));
    }

    #[test]
    fn a_wrapped_text_is_read() {
        assert_eq!(
            decode(b"Zm9v\r\nYm\nFy ").as_deref(),
            Some(b"foobar".as_slice())
        );
    }

    #[test]
    fn what_was_not_encoded_is_refused() {
        for text in [
            "Z", "Zg", "Zg=", "Zh==", "Zm9=", "=Zg=", "Zg==Zg==", "Zg==A", "Z!==", "====", "A===",
            "Zm9v=", "Zm9v====",
        ] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
