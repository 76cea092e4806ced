//! Tokens: secrets that a request must bring.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A secret. It is never printed by accident.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A token with this text, which must not be empty.
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    /// The secret itself.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Whether this is the whole token. It takes the same time wherever they differ.
    pub fn is(&self, given: &[u8]) -> bool {
        let differing = given.iter().zip(self.0.bytes());
        let differing = differing.fold(0, |bits, (a, b)| bits | (a ^ b));
        given.len() == self.0.len() && differing == 0 && !self.0.is_empty()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A new token of 192 random bits.
pub fn make_token() -> io::Result<Token> {
    let digits = outlive::serving::token().map_err(io::Error::other)?;
    Ok(Token(digits))
}

/// Reads the token from a file that only its owner may read.
pub fn read_token(path: &Path) -> io::Result<Token> {
    let of = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    if fs::metadata(path).map_err(of)?.mode() & 0o077 != 0 {
        return Err(of(io::Error::other(
            "others can read or change the token; make it private (chmod 600)",
        )));
    }
    let token = fs::read_to_string(path).map_err(of)?.trim().to_owned();
    match token.is_empty() {
        true => Err(of(io::Error::other("there is no token in it"))),
        false => Ok(Token(token)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_complete_token_counts() {
        let token = Token::new("secret");
        for (given, is) in [
            ("secret", true),
            ("secre", false),
            ("secrets", false),
            ("Secret", false),
            ("", false),
        ] {
            assert_eq!(token.is(given.as_bytes()), is, "{given:?}");
        }
        assert!(!Token::new("").is(b""), "an empty token lets nobody in");
        assert!(!format!("{token:?}").contains("secret"));
    }

    #[test]
    fn no_two_tokens_are_the_same() {
        let (one, other) = (make_token().expect("random"), make_token().expect("random"));
        assert_eq!(one.secret().len(), 48);
        assert_ne!(one.secret(), other.secret());
    }
}
