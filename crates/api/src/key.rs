//! Keys by name: `Enter`, `C-c`, `Up`, `F5`, `M-x`.

use serde::{Deserialize, Serialize};

/// A key that can be pressed. In JSON it is its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key {
    /// As the caller wrote it.
    name: String,
    bytes: Vec<u8>,
    /// What it sends to a program that asked for application cursor keys.
    application: Option<Vec<u8>>,
}

/// A text that is no [`Key`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not a key; write C-c, M-x, Enter, Tab, S-Tab, Esc, Space, Backspace, Delete, Insert, Up, Down, Left, Right, Home, End, PageUp, PageDown, F1 to F12, or one character"
)]
pub struct BadKey(String);

impl Key {
    /// Reads the name of a key.
    pub fn parse(text: &str) -> Result<Key, BadKey> {
        // Allow Meta only once: no real key has more, and outside text could repeat it without end.
        let meta = text.strip_prefix("M-").or_else(|| text.strip_prefix("A-"));
        let key = pressed(meta.unwrap_or(text)).ok_or_else(|| BadKey(text.to_owned()))?;
        let key = match meta {
            Some(_) => Key::plain([b"\x1b", key.bytes.as_slice()].concat()),
            None => key,
        };
        Ok(Key {
            name: text.to_owned(),
            ..key
        })
    }

    fn plain(bytes: Vec<u8>) -> Key {
        Key {
            name: String::new(),
            bytes,
            application: None,
        }
    }

    /// The bytes that pressing the key sends.
    pub fn bytes(&self, application_cursor: bool) -> &[u8] {
        match (&self.application, application_cursor) {
            (Some(bytes), true) => bytes,
            _ => &self.bytes,
        }
    }
}

impl From<Key> for String {
    fn from(key: Key) -> String {
        key.name
    }
}

impl TryFrom<String> for Key {
    type Error = BadKey;
    fn try_from(text: String) -> Result<Key, BadKey> {
        Key::parse(&text)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Key {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Key".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The name of a key: C-c, M-x, Enter, Tab, Esc, Up, F5, or one character",
        })
    }
}

/// A key without Meta.
fn pressed(text: &str) -> Option<Key> {
    match text.strip_prefix("C-") {
        Some(rest) => control(rest).map(|byte| Key::plain(vec![byte])),
        None => named(&text.to_ascii_lowercase()).or_else(|| single(text)),
    }
}

fn single(text: &str) -> Option<Key> {
    let mut chars = text.chars();
    chars.next()?;
    chars
        .next()
        .is_none()
        .then(|| Key::plain(text.as_bytes().to_vec()))
}

fn control(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [letter @ (b'a'..=b'z' | b'A'..=b'Z')] => Some(letter & 0x1f),
        [mark @ (b'@' | b'[' | b'\\' | b']' | b'^' | b'_')] => Some(mark & 0x1f),
        [b'?'] => Some(0x7f),
        _ if text.eq_ignore_ascii_case("space") => Some(0),
        _ => None,
    }
}

fn named(name: &str) -> Option<Key> {
    let plain = |bytes: &str| Some(Key::plain(bytes.as_bytes().to_vec()));
    let cursor = |letter: char| {
        Some(Key {
            name: String::new(),
            bytes: format!("\x1b[{letter}").into_bytes(),
            application: Some(format!("\x1bO{letter}").into_bytes()),
        })
    };
    match name {
        "enter" | "return" => plain("\r"),
        "tab" => plain("\t"),
        "s-tab" | "backtab" => plain("\x1b[Z"),
        "esc" | "escape" => plain("\x1b"),
        "space" => plain(" "),
        "backspace" | "bspace" => plain("\x7f"),
        "delete" | "del" => plain("\x1b[3~"),
        "insert" | "ins" => plain("\x1b[2~"),
        "pageup" | "pgup" => plain("\x1b[5~"),
        "pagedown" | "pgdn" => plain("\x1b[6~"),
        "up" => cursor('A'),
        "down" => cursor('B'),
        "right" => cursor('C'),
        "left" => cursor('D'),
        "end" => cursor('F'),
        "home" => cursor('H'),
        _ => function(name.strip_prefix('f')?.parse().ok()?),
    }
}

fn function(number: usize) -> Option<Key> {
    const SENDS: [&str; 12] = [
        "\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~", "\x1b[17~", "\x1b[18~", "\x1b[19~",
        "\x1b[20~", "\x1b[21~", "\x1b[23~", "\x1b[24~",
    ];
    let bytes = SENDS.get(number.checked_sub(1)?)?;
    Some(Key::plain(bytes.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_name_of_any_length_is_refused_without_a_crash() {
        assert!(Key::parse("M-C-x").is_ok());
        for bad in ["M-M-x", "A-M-x", &"M-".repeat(1 << 20)] {
            assert!(Key::parse(bad).is_err());
        }
    }

    #[test]
    fn keys_send_the_same_bytes_as_a_keyboard() {
        for (name, bytes) in [
            ("C-c", "\x03"),
            ("C-D", "\x04"),
            ("C-]", "\x1d"),
            ("C-space", "\0"),
            ("Enter", "\r"),
            ("esc", "\x1b"),
            ("M-b", "\x1bb"),
            ("M-Enter", "\x1b\r"),
            ("Up", "\x1b[A"),
            ("F1", "\x1bOP"),
            ("F12", "\x1b[24~"),
            ("q", "q"),
            ("é", "é"),
        ] {
            assert_eq!(
                Key::parse(name).map(|key| key.bytes(false).to_vec()),
                Ok(bytes.as_bytes().to_vec()),
                "{name}"
            );
        }
        assert_eq!(
            Key::parse("Up").map(|key| key.bytes(true).to_vec()),
            Ok(b"\x1bOA".to_vec())
        );
        for bad in ["", "C-", "C-cc", "F0", "F13", "Nope", "M-"] {
            assert!(Key::parse(bad).is_err(), "{bad:?} was a key");
        }
    }
}
