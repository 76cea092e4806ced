//! Reads a shell string once, from left to right, to find its trailing `&`.
//!
//! A stack of [`Frame`]s holds the open constructs, so nesting costs heap and not
//! stack. Where the lexer is not sure, it returns `None`: that ends the reading, and
//! the string is left alone.

use super::grammar::{Frame, ParseState, Resume};
use super::habits::Commands;
use super::here_document::{HereDocument, ends_in_escape};

/// Longer than the names that people give to variables.
const MAX_NAME_BYTES: usize = 128;

/// What a string contains, if all of it was understood.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The offset of the `&` that backgrounds the last list.
    pub trailing_ampersand: Option<usize>,
    /// How many `&` background something, the trailing one included. Those in substitutions do not count.
    pub backgrounded: usize,
    pub commands: Commands,
}

pub struct Lexer<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) frames: Vec<Frame>,
    pub(super) state: ParseState,
    /// The start of the current word.
    pub(super) word: Option<usize>,
    /// Whether the next word is the target of a redirection.
    pub(super) redirects: bool,
    /// How many substitutions are open.
    pub(super) level: usize,
    /// The here-documents of this line. Their bodies follow the line.
    pub(super) here_documents: Vec<HereDocument>,
    /// The last `&` at the top level, if nothing has followed it yet.
    pub(super) ampersand: Option<usize>,
    /// How many `&` background something, outside of substitutions.
    pub(super) backgrounded: usize,
    pub(super) commands: Commands,
}

impl<'a> Lexer<'a> {
    pub fn new(script: &'a str) -> Self {
        Self {
            bytes: script.as_bytes(),
            at: 0,
            frames: Vec::new(),
            state: ParseState::Begin,
            word: None,
            redirects: false,
            level: 0,
            here_documents: Vec::new(),
            ampersand: None,
            backgrounded: 0,
            commands: Commands::default(),
        }
    }

    /// The offset of the `&` that backgrounds the last list.
    pub fn trailing_ampersand(self) -> Option<usize> {
        self.read()?.trailing_ampersand
    }

    /// Reads the whole string; `None` if it is not sure of all of it.
    pub fn read(mut self) -> Option<Reading> {
        while let Some(byte) = self.peek(0) {
            let frame = self.frames.last().copied();
            match frame {
                Some(Frame::DoubleQuotes) => self.in_double_quotes(byte),
                Some(Frame::Parameter { quoted }) => self.in_parameter(byte, quoted),
                Some(Frame::Arithmetic { parens, then }) => self.in_arithmetic(byte, parens, then),
                Some(Frame::Test { parens }) => self.in_test(byte, parens),
                Some(Frame::Glob { parens }) => self.in_glob(byte, parens),
                Some(Frame::Array) => self.in_array(byte),
                _ => self.in_command(byte),
            }?;
        }
        self.end_word()?;
        let is_whole = self.frames.is_empty() && self.here_documents.is_empty() && !self.redirects;
        let has_ended = self.state == ParseState::Begin;
        (is_whole && (has_ended || self.state.ends_command())).then_some(Reading {
            trailing_ampersand: self.ampersand.filter(|_| has_ended),
            backgrounded: self.backgrounded,
            commands: self.commands,
        })
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn looking_at(&self, text: &[u8]) -> bool {
        self.bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text))
    }

    /// Whether the byte before begins something new. `None` after a line
    /// continuation, which may be in the middle of a word.
    pub(super) fn is_after(&self, separators: &[u8]) -> Option<bool> {
        let before = |n: usize| self.at.checked_sub(n).and_then(|at| self.bytes.get(at));
        match (before(2), before(1)?) {
            (Some(b'\\'), _) => None,
            (_, byte) => Some(separators.contains(byte)),
        }
    }

    fn in_command(&mut self, byte: u8) -> Option<()> {
        match byte {
            b' ' | b'\t' => {
                self.end_word()?;
                self.at += 1;
            }
            b'\n' => self.newline()?,
            b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
            b'#' if self.word.is_none() => self.comment(),
            b'&' | b'|' | b';' => self.operator(byte)?,
            b'<' | b'>' => self.angle(byte)?,
            b'(' => self.open_paren()?,
            b')' => self.close_paren()?,
            b'[' if self.word.is_some_and(|start| self.is_name(start)) => self.subscript()?,
            _ => {
                self.begin_word();
                self.word_byte(byte, false)?;
            }
        }
        Some(())
    }

    /// A byte of a word, or a quotation or an expansion that begins there.
    pub(super) fn word_byte(&mut self, byte: u8, quoted: bool) -> Option<()> {
        match byte {
            b'\\' => {
                self.inside_newline(self.peek(1)?)?;
                self.at += 2;
            }
            b'\'' => {
                self.at += 1;
                self.skip_past(b'\'', false)?;
            }
            b'`' => {
                self.at += 1;
                self.skip_past(b'`', true)?;
            }
            b'"' => {
                self.at += 1;
                self.frames.push(Frame::DoubleQuotes);
            }
            b'$' => self.dollar(quoted)?,
            _ => {
                self.inside_newline(byte)?;
                self.at += 1;
            }
        }
        Some(())
    }

    /// Shells differ on where a here-document begins if its line continues after a
    /// newline in quotes.
    fn inside_newline(&self, byte: u8) -> Option<()> {
        (byte != b'\n' || self.here_documents.is_empty()).then_some(())
    }

    fn skip_past(&mut self, end: u8, escapes: bool) -> Option<()> {
        loop {
            let byte = self.peek(0)?;
            self.inside_newline(byte)?;
            self.at += 1;
            if byte == end {
                return Some(());
            }
            if escapes && byte == b'\\' {
                self.inside_newline(self.peek(0)?)?;
                self.at += 1;
            }
        }
    }

    fn dollar(&mut self, quoted: bool) -> Option<()> {
        self.at += 1;
        match self.peek(0) {
            // The next line may begin with another parenthesis, which makes it arithmetic.
            Some(b'(') if self.peek(1) == Some(b'\\') && self.peek(2) == Some(b'\n') => {
                return None;
            }
            Some(b'(') if self.peek(1) == Some(b'(') => {
                self.at += 2;
                self.frames.push(Frame::Arithmetic {
                    parens: 0,
                    then: None,
                });
            }
            Some(b'(') => self.open_substitution(),
            // A command in braces, which only the newest shells know.
            Some(b'{') if matches!(self.peek(1), Some(b' ' | b'\t' | b'\n' | b'|' | b'(')) => {
                return None;
            }
            Some(b'{') => {
                self.at += 1;
                self.frames.push(Frame::Parameter { quoted });
            }
            Some(b'\'') if !quoted => {
                self.at += 1;
                let start = self.at;
                self.skip_past(b'\'', false)?;
                // A shell that does not know `$'…'` ends the text at this quote, and bash goes on.
                if ends_in_escape(self.bytes.get(start..self.at - 1)?) {
                    return None;
                }
            }
            // Old-style arithmetic, and a line continuation.
            Some(b'[') => return None,
            Some(b'\\') if self.peek(1) == Some(b'\n') => return None,
            Some(b'$') if matches!(self.peek(1), Some(b'(' | b'{' | b'[' | b'\'' | b'\\')) => {
                return None;
            }
            Some(b'$' | b'#' | b'!') => self.at += 1,
            _ => {}
        }
        Some(())
    }

    /// At the `(` of `$(`, `<(` or `>(`.
    pub(super) fn open_substitution(&mut self) {
        self.at += 1;
        self.frames.push(Frame::Substitution(Resume {
            state: self.state,
            word: self.word.take(),
            redirects: self.redirects,
        }));
        self.state = ParseState::Begin;
        self.redirects = false;
        self.level += 1;
    }

    /// Leaves the innermost frame, whose end has `length` bytes.
    pub(super) fn leave(&mut self, length: usize) {
        self.at += length;
        self.frames.pop();
    }

    /// Steps over a byte that changes the innermost frame.
    pub(super) fn renew(&mut self, frame: Frame) {
        self.leave(1);
        self.frames.push(frame);
    }

    pub(super) fn comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    pub(super) fn begin_word(&mut self) {
        self.ampersand = None;
        self.word.get_or_insert(self.at);
    }

    pub(super) fn end_word(&mut self) -> Option<()> {
        let Some(start) = self.word.take() else {
            return Some(());
        };
        if self.redirects {
            self.redirects = false;
            self.state = self.state.after_redirection()?;
        } else {
            let text = self.bytes.get(start..self.at)?;
            let before = self.state;
            self.state = before.after_word(text, &mut self.frames)?;
            if before.begins_command() && self.state == ParseState::FirstWord {
                self.commands.note(text);
            }
        }
        Some(())
    }

    /// Whether the word that began at `start` may be a variable's name so far. A
    /// very long one is taken for one unread, which keeps the time short. So is one
    /// with a newline: it may be a name that continues on the next line.
    fn is_name(&self, start: usize) -> bool {
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        word.len() > MAX_NAME_BYTES
            || word.contains(&b'\n')
            || word.iter().all(|&b| b == b'_' || b.is_ascii_alphanumeric())
    }

    /// A subscript. In an assignment it goes on past blanks and operators, so
    /// only one is read that has none.
    pub(super) fn subscript(&mut self) -> Option<()> {
        loop {
            self.at += 1;
            match self.peek(0)? {
                b']' => break,
                b'_' | b'$' | b'@' | b'*' | b'+' | b'-' | b'.' | b'/' | b'^' | b'!' | b',' => {}
                byte if byte.is_ascii_alphanumeric() => {}
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    fn newline(&mut self) -> Option<()> {
        self.end_word()?;
        if self.redirects {
            return None;
        }
        self.state = self.state.after_newline()?;
        self.at += 1;
        for document in std::mem::take(&mut self.here_documents) {
            if document.level != self.level {
                return None;
            }
            self.at = document.end(self.bytes, self.at)?;
        }
        Some(())
    }
}
