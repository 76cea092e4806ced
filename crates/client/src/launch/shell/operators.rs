//! The lexer at an operator: `&`, `|`, `;`, redirections and parentheses.

use super::grammar::{Frame, ParseState};
use super::here_document::HereDocument;
use super::lexer::Lexer;

/// The number of a file descriptor has fewer digits.
const MAX_NUMBER_BYTES: usize = 10;

impl Lexer<'_> {
    /// At `&`, `|` or `;`.
    pub(super) fn operator(&mut self, byte: u8) -> Option<()> {
        if self.looking_at(b"&>") {
            return self.angle(byte);
        }
        self.end_word()?;
        self.ampersand = None;
        if self.redirects {
            return None;
        }
        let is_case = self.frames.last() == Some(&Frame::Case);
        let (length, state) = match (byte, self.peek(1), self.state) {
            (b'|', _, ParseState::PatternWord) => (1, ParseState::PatternOpen),
            (b';', Some(b';' | b'&'), state)
                if is_case && (state.ends_command() || state == ParseState::Begin) =>
            {
                let length = if self.looking_at(b";;&") { 3 } else { 2 };
                (length, ParseState::PatternStart)
            }
            (b';', Some(b';' | b'&'), _) => return None,
            (b';', _, ParseState::ForNamed | ParseState::ForWords) => (1, ParseState::Do),
            (_, _, state) if !state.ends_command() => return None,
            (b'&', Some(b'&'), _) | (b'|', Some(b'|' | b'&'), _) => (2, ParseState::Needed),
            (b'|', ..) => (1, ParseState::Needed),
            _ => (1, ParseState::Begin),
        };
        if byte == b'&' && length == 1 {
            self.backgrounded += usize::from(self.level == 0);
            if self.frames.is_empty() {
                self.ampersand = Some(self.at);
            }
        }
        self.at += length;
        self.state = state;
        Some(())
    }

    /// At a redirection, or at a process substitution.
    pub(super) fn angle(&mut self, byte: u8) -> Option<()> {
        // The number of a file descriptor is not a word of the command.
        let word = self.word.and_then(|start| self.bytes.get(start..self.at));
        let begin = word.map(|word| &word[..word.len().min(MAX_NUMBER_BYTES)]);
        let is_number = begin.is_some_and(|begin| begin.iter().all(u8::is_ascii_digit));
        // So long a number is a word to some shells.
        if is_number && word.is_some_and(|word| word.len() > MAX_NUMBER_BYTES) {
            return None;
        }
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
        self.state.after_redirection()?;
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
        self.state = self.state.after_redirection()?;
        Some(())
    }

    pub(super) fn open_paren(&mut self) -> Option<()> {
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
        // The next line may begin with another parenthesis, which makes it arithmetic.
        let continues = self.peek(1) == Some(b'\\') && self.peek(2) == Some(b'\n');
        if self.redirects || continues {
            return None;
        }
        let arithmetic = |then| Frame::Arithmetic {
            parens: 0,
            then: Some(then),
        };
        match self.state {
            ParseState::FirstWord | ParseState::FunctionBody if self.peek(1) == Some(b')') => {
                self.at += 2;
                self.state = ParseState::FunctionBody;
            }
            ParseState::PatternStart => {
                self.at += 1;
                self.state = ParseState::PatternOpen;
            }
            ParseState::ForName if self.peek(1) == Some(b'(') => {
                self.at += 2;
                self.frames.push(arithmetic(ParseState::ForNamed));
            }
            ParseState::Begin | ParseState::Needed | ParseState::FunctionBody => {
                if self.peek(1) == Some(b'(') {
                    self.at += 2;
                    self.frames.push(arithmetic(ParseState::Compound));
                } else {
                    self.at += 1;
                    self.frames.push(Frame::Subshell);
                    self.state = ParseState::Needed;
                }
            }
            _ => return None,
        }
        Some(())
    }

    pub(super) fn close_paren(&mut self) -> Option<()> {
        self.end_word()?;
        self.ampersand = None;
        if self.redirects {
            return None;
        }
        if self.state == ParseState::PatternWord {
            self.at += 1;
            self.state = ParseState::Begin;
            return Some(());
        }
        if !self.state.ends_command() && self.state != ParseState::Begin {
            return None;
        }
        match self.frames.last()? {
            Frame::Subshell => self.state = ParseState::Compound,
            Frame::Substitution(resume) => {
                self.state = resume.state;
                self.word = resume.word;
                self.redirects = resume.redirects;
                // A here-document whose body has not come.
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
