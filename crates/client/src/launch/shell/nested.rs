//! The lexer inside quotes, expansions and other things that are no list of commands.

use super::grammar::{Frame, ParseState};
use super::lexer::Lexer;

impl Lexer<'_> {
    pub(super) fn in_double_quotes(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'"' => self.leave(1),
            b'\'' => self.at += 1,
            _ => self.word_byte(byte, true)?,
        }
        Some(())
    }

    pub(super) fn in_parameter(&mut self, byte: u8, quoted: bool) -> Option<()> {
        match byte {
            b'}' => self.leave(1),
            // Shells differ on what it means there.
            b'\'' if quoted => return None,
            b'<' | b'>' if self.peek(1) == Some(b'(') => return None,
            _ => self.word_byte(byte, quoted)?,
        }
        Some(())
    }

    /// What begins as arithmetic may be subshells instead, which the end tells:
    /// then it is too late to read it as that.
    pub(super) fn in_arithmetic(
        &mut self,
        byte: u8,
        parens: usize,
        then: Option<ParseState>,
    ) -> Option<()> {
        let inside = |parens| Frame::Arithmetic { parens, then };
        match byte {
            b'(' => self.renew(inside(parens + 1)),
            b')' if parens > 0 => self.renew(inside(parens - 1)),
            b')' if self.peek(1) == Some(b')') => {
                self.leave(2);
                self.state = then.unwrap_or(self.state);
            }
            b')' | b'\'' => return None,
            _ => self.word_byte(byte, true)?,
        }
        Some(())
    }

    pub(super) fn in_test(&mut self, byte: u8, parens: usize) -> Option<()> {
        let ends = |after: Option<u8>| after.is_none_or(|b| b" \t\n;&|)<>".contains(&b));
        match byte {
            b']' if parens == 0 && self.looking_at(b"]]") && ends(self.peek(2)) => {
                match self.is_after(b" \t\n")? {
                    true => self.leave(2),
                    false => self.at += 1,
                }
            }
            b'(' => self.renew(Frame::Test { parens: parens + 1 }),
            b')' => self.renew(Frame::Test {
                parens: parens.checked_sub(1)?,
            }),
            b'&' if self.peek(1) == Some(b'&') => self.at += 2,
            b'&' | b';' => return None,
            b'#' if self.is_after(b" \t\n")? => return None,
            b'<' | b'>' if matches!(self.peek(1), Some(b'<' | b'(')) => return None,
            _ => self.word_byte(byte, false)?,
        }
        Some(())
    }

    pub(super) fn in_glob(&mut self, byte: u8, parens: usize) -> Option<()> {
        match byte {
            b'(' => self.renew(Frame::Glob { parens: parens + 1 }),
            b')' if parens == 0 => self.leave(1),
            b')' => self.renew(Frame::Glob { parens: parens - 1 }),
            b'\n' => return None,
            _ => self.word_byte(byte, false)?,
        }
        Some(())
    }

    pub(super) fn in_array(&mut self, byte: u8) -> Option<()> {
        match byte {
            b')' => self.leave(1),
            b'&' | b'|' | b';' | b'<' | b'>' | b'(' => return None,
            b'#' if self.is_after(b" \t\n(")? => self.comment(),
            b'[' if self.is_after(b" \t\n(")? => self.subscript()?,
            _ => self.word_byte(byte, false)?,
        }
        Some(())
    }
}
