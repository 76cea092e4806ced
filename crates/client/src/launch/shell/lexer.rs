//! Reads a shell string once, from left to right, to find its trailing `&`.
//!
//! What it is inside of is a stack of [`Frame`]s, so nesting costs heap and not
//! stack, and time is linear in the string. Each `Option` is `None` where the
//! lexer is not sure: that ends the reading, and the string is left alone.

use super::grammar::{Frame, Place, Resume};
use super::here_document::HereDocument;

/// Longer than the names that people give to variables.
const MAX_NAME_BYTES: usize = 128;

pub struct Lexer<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    frames: Vec<Frame>,
    pub(super) place: Place,
    /// Where the word began that is being read.
    word: Option<usize>,
    /// Whether the next word is the target of a redirection.
    redirects: bool,
    /// How many substitutions are open.
    level: usize,
    /// Those of this line, whose bodies come after it.
    here_documents: Vec<HereDocument>,
    /// The `&` of the top level after which nothing has come yet.
    ampersand: Option<usize>,
}

impl<'a> Lexer<'a> {
    pub fn new(script: &'a str) -> Self {
        Self {
            bytes: script.as_bytes(),
            at: 0,
            frames: Vec::new(),
            place: Place::Begin,
            word: None,
            redirects: false,
            level: 0,
            here_documents: Vec::new(),
            ampersand: None,
        }
    }

    /// Where the `&` is that backgrounds the last list.
    pub fn trailing_ampersand(mut self) -> Option<usize> {
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
        let is_whole = self.frames.is_empty()
            && self.here_documents.is_empty()
            && !self.redirects
            && self.place == Place::Begin;
        self.ampersand.filter(|_| is_whole)
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

    /// Shells differ on where a here-document begins whose line goes on past a
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
                self.skip_past(b'\'', true)?;
            }
            // Arithmetic of old, and a line continuation.
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
    fn open_substitution(&mut self) {
        self.at += 1;
        self.frames.push(Frame::Substitution(Resume {
            place: self.place,
            word: self.word.take(),
            redirects: self.redirects,
        }));
        self.place = Place::Begin;
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

    fn begin_word(&mut self) {
        self.ampersand = None;
        self.word.get_or_insert(self.at);
    }

    fn end_word(&mut self) -> Option<()> {
        let Some(start) = self.word.take() else {
            return Some(());
        };
        if self.redirects {
            self.redirects = false;
            self.place = self.place.after_redirection()?;
        } else {
            let text = self.bytes.get(start..self.at)?;
            self.place = self.place.after_word(text, &mut self.frames)?;
        }
        Some(())
    }

    /// Whether the word that began at `start` may be a variable's name so far. A
    /// very long one is taken for one unread, so that time stays linear.
    fn is_name(&self, start: usize) -> bool {
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        word.len() > MAX_NAME_BYTES || word.iter().all(|&b| b == b'_' || b.is_ascii_alphanumeric())
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
        self.place = self.place.after_newline()?;
        self.at += 1;
        for document in std::mem::take(&mut self.here_documents) {
            if document.level != self.level {
                return None;
            }
            self.at = document.end(self.bytes, self.at)?;
        }
        Some(())
    }

    /// At `&`, `|` or `;`.
    fn operator(&mut self, byte: u8) -> Option<()> {
        if self.looking_at(b"&>") {
            return self.angle(byte);
        }
        self.end_word()?;
        self.ampersand = None;
        if self.redirects {
            return None;
        }
        let is_case = self.frames.last() == Some(&Frame::Case);
        let (length, place) = match (byte, self.peek(1), self.place) {
            (b'|', _, Place::PatternWord) => (1, Place::PatternOpen),
            (b';', Some(b';' | b'&'), place)
                if is_case && (place.ends_command() || place == Place::Begin) =>
            {
                let length = if self.looking_at(b";;&") { 3 } else { 2 };
                (length, Place::PatternStart)
            }
            (b';', Some(b';' | b'&'), _) => return None,
            (b';', _, Place::ForNamed | Place::ForWords) => (1, Place::Do),
            (_, _, place) if !place.ends_command() => return None,
            (b'&', Some(b'&'), _) | (b'|', Some(b'|' | b'&'), _) => (2, Place::Needed),
            (b'|', ..) => (1, Place::Needed),
            _ => (1, Place::Begin),
        };
        if byte == b'&' && length == 1 && self.frames.is_empty() {
            self.ampersand = Some(self.at);
        }
        self.at += length;
        self.place = place;
        Some(())
    }

    /// At a redirection, or at a process substitution.
    fn angle(&mut self, byte: u8) -> Option<()> {
        // The number of a descriptor is no word of the command.
        let is_number = self.word.is_some_and(|start| {
            let word = self.bytes.get(start..self.at).unwrap_or_default();
            word.iter().all(u8::is_ascii_digit)
        });
        if byte != b'&' && self.peek(1) == Some(b'(') {
            if is_number {
                return None;
            }
            self.begin_word();
            self.at += 1;
            self.open_substitution();
            return Some(());
        }
        if is_number && byte != b'&' && !self.redirects {
            self.word = None;
        }
        self.end_word()?;
        self.ampersand = None;
        self.place.after_redirection()?;
        if self.redirects {
            return None;
        }
        let is_here_document = self.looking_at(b"<<") && self.peek(2) != Some(b'<');
        if is_here_document {
            return self.here_document();
        }
        let operators: [&[u8]; 9] = [
            b"&>>", b"<<<", b"&>", b">>", b">&", b">|", b"<&", b"<>", b"<",
        ];
        let operator = operators.iter().find(|text| self.looking_at(text));
        self.at += operator.map_or(1, |text| text.len());
        self.redirects = true;
        Some(())
    }

    fn here_document(&mut self) -> Option<()> {
        let strips_tabs = self.peek(2) == Some(b'-');
        let delimiter = self.at + if strips_tabs { 3 } else { 2 };
        let (document, end) = HereDocument::read(self.bytes, delimiter, strips_tabs, self.level)?;
        self.here_documents.push(document);
        self.at = end;
        self.place = self.place.after_redirection()?;
        Some(())
    }

    fn open_paren(&mut self) -> Option<()> {
        if let Some(start) = self.word {
            let word = self.bytes.get(start..self.at)?;
            match word {
                [.., b'\\' | b'$', _] | b"!" => return None,
                [.., b'?' | b'*' | b'+' | b'@' | b'!'] if self.peek(1) != Some(b')') => {
                    self.at += 1;
                    self.frames.push(Frame::Glob { parens: 0 });
                    return Some(());
                }
                [name, .., b'='] if name.is_ascii_alphabetic() || *name == b'_' => {
                    self.at += 1;
                    self.frames.push(Frame::Array);
                    return Some(());
                }
                _ => self.end_word()?,
            }
        }
        self.ampersand = None;
        if self.redirects {
            return None;
        }
        let arithmetic = |then| Frame::Arithmetic {
            parens: 0,
            then: Some(then),
        };
        match self.place {
            Place::FirstWord | Place::FunctionBody if self.peek(1) == Some(b')') => {
                self.at += 2;
                self.place = Place::FunctionBody;
            }
            Place::PatternStart => {
                self.at += 1;
                self.place = Place::PatternOpen;
            }
            Place::ForName if self.peek(1) == Some(b'(') => {
                self.at += 2;
                self.frames.push(arithmetic(Place::ForNamed));
            }
            Place::Begin | Place::Needed | Place::FunctionBody => {
                if self.peek(1) == Some(b'(') {
                    self.at += 2;
                    self.frames.push(arithmetic(Place::Compound));
                } else {
                    self.at += 1;
                    self.frames.push(Frame::Subshell);
                    self.place = Place::Needed;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn close_paren(&mut self) -> Option<()> {
        self.end_word()?;
        self.ampersand = None;
        if self.redirects {
            return None;
        }
        if self.place == Place::PatternWord {
            self.at += 1;
            self.place = Place::Begin;
            return Some(());
        }
        if !self.place.ends_command() && self.place != Place::Begin {
            return None;
        }
        match self.frames.last()? {
            Frame::Subshell => self.place = Place::Compound,
            Frame::Substitution(resume) => {
                self.place = resume.place;
                self.word = resume.word;
                self.redirects = resume.redirects;
                // One whose body has not come.
                if self.here_documents.iter().any(|it| it.level == self.level) {
                    return None;
                }
                self.level -= 1;
            }
            _ => return None,
        }
        self.leave(1);
        Some(())
    }
}
