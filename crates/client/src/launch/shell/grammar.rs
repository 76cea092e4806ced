//! The lexer's position in the grammar, and what a word or an operator means there.
//!
//! It follows lists, pipelines and compound commands closely enough to pair each
//! opening word with its closing one. It accepts a few strings that bash rejects;
//! those fail in the same way with and without their last `&`.

/// An open construct. The innermost one is on top of the lexer's stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// `( … )`
    Subshell,
    /// `{ …; }`
    Group,
    If(IfPart),
    /// `while`, `until`, `for` or `select`
    Loop {
        in_body: bool,
    },
    /// `case … esac`
    Case,
    /// `$( … )`, `<( … )` or `>( … )`, with what to come back to.
    Substitution(Resume),
    /// `" … "`
    DoubleQuotes,
    /// `${ … }`
    Parameter {
        quoted: bool,
    },
    /// `(( … ))` or `$(( … ))`, with the parentheses open in it.
    Arithmetic {
        parens: usize,
        then: Option<ParseState>,
    },
    /// `[[ … ]]`
    Test {
        parens: usize,
    },
    /// `@( … )`
    Glob {
        parens: usize,
    },
    /// `name=( … )`
    Array,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum IfPart {
    Condition,
    Then,
    Else,
}

/// The state of the lexer around a substitution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    pub state: ParseState,
    pub word: Option<usize>,
    pub redirects: bool,
}

/// How much of a command has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseState {
    /// Nothing: a command may come, or the end of the list.
    Begin,
    /// Nothing, and a command has to come: after `&&`, `(` or `then`.
    Needed,
    /// The first word, which `()` makes a function.
    FirstWord,
    /// More of a simple command.
    Command,
    /// A whole compound command.
    Compound,
    /// A whole compound command and redirections.
    Redirected,
    /// `function`
    FunctionName,
    /// `f()`: a compound command has to come.
    FunctionBody,
    /// `for`
    ForName,
    /// `for name`
    ForNamed,
    /// `for name in …`
    ForWords,
    /// `for name in …;`
    Do,
    /// `case`
    CaseWord,
    /// `case word`
    CaseIn,
    /// `in` or `;;`
    PatternStart,
    /// `(` or `|` of a pattern
    PatternOpen,
    /// A word of a pattern
    PatternWord,
}

impl ParseState {
    /// Whether an operator can follow that ends a command.
    pub fn ends_command(self) -> bool {
        use ParseState::{Command, Compound, FirstWord, Redirected};
        matches!(self, FirstWord | Command | Compound | Redirected)
    }

    /// Whether a command can begin here.
    pub fn begins_command(self) -> bool {
        matches!(self, Self::Begin | Self::Needed)
    }

    pub fn after_newline(self) -> Option<Self> {
        use ParseState::*;
        match self {
            FirstWord | Command | Compound | Redirected => Some(Begin),
            ForWords => Some(Do),
            Begin | Needed | FunctionBody | ForNamed | Do | CaseIn | PatternStart => Some(self),
            FunctionName | ForName | CaseWord | PatternOpen | PatternWord => None,
        }
    }

    pub fn after_redirection(self) -> Option<Self> {
        use ParseState::*;
        match self {
            Begin | Needed | FirstWord | Command => Some(Command),
            Compound | Redirected => Some(Redirected),
            _ => None,
        }
    }

    /// After the word `text`, which may open or close one of `frames`.
    pub fn after_word(self, text: &[u8], frames: &mut Vec<Frame>) -> Option<Self> {
        use ParseState::*;
        match self {
            Begin | Needed | Compound | FunctionBody => self.after_reserved(text, frames),
            FirstWord | Command => Some(Command),
            ForWords => Some(ForWords),
            FunctionName => Some(FunctionBody),
            ForName => Some(ForNamed),
            ForNamed if text == b"in" => Some(ForWords),
            ForNamed | Do if text == b"do" => begin_body(frames),
            CaseWord => Some(CaseIn),
            CaseIn if text == b"in" => Some(PatternStart),
            PatternStart if text == b"esac" => close(frames, Frame::Case),
            PatternStart | PatternOpen => Some(PatternWord),
            Redirected | ForNamed | Do | CaseIn | PatternWord => None,
        }
    }

    /// After a word where the shell looks for reserved ones.
    fn after_reserved(self, text: &[u8], frames: &mut Vec<Frame>) -> Option<Self> {
        let (frame, next) = match text {
            b"if" => (Frame::If(IfPart::Condition), Self::Needed),
            b"while" | b"until" => (Frame::Loop { in_body: false }, Self::Needed),
            b"for" | b"select" => (Frame::Loop { in_body: false }, Self::ForName),
            b"case" => (Frame::Case, Self::CaseWord),
            b"{" => (Frame::Group, Self::Needed),
            b"[[" => (Frame::Test { parens: 0 }, Self::Compound),
            b"then" | b"elif" | b"else" | b"fi" | b"do" | b"done" | b"}" | b"esac" => {
                let may_close = matches!(self, Self::Begin | Self::Compound);
                return if may_close {
                    closing(text, frames)
                } else {
                    None
                };
            }
            _ if !self.begins_command() => return None,
            // An option of `time`, or a reserved word that continues on the next line.
            _ if text.starts_with(b"-") || continues(text) => return None,
            b"!" | b"time" => return Some(Self::Needed),
            b"function" => return Some(Self::FunctionName),
            // It may have a name; only the next words tell.
            b"coproc" => return None,
            _ if text.contains(&b'=') => return Some(Self::Command),
            _ => return Some(Self::FirstWord),
        };
        if self == Self::Compound {
            return None;
        }
        frames.push(frame);
        Some(next)
    }
}

/// Whether a line continuation is in the beginning of the word, where it may hide a
/// reserved word. A long word is not read whole, because words can be nested.
fn continues(word: &[u8]) -> bool {
    /// Longer than every reserved word.
    const MAX_BEGINNING: usize = 16;
    let beginning = &word[..word.len().min(MAX_BEGINNING)];
    beginning.windows(2).any(|pair| pair == b"\\\n")
}

/// After a word that ends a part of the innermost compound command.
fn closing(text: &[u8], frames: &mut Vec<Frame>) -> Option<ParseState> {
    use IfPart::{Condition, Else, Then};
    match (text, frames.last_mut()?) {
        (b"then", Frame::If(part @ Condition)) => *part = Then,
        (b"elif", Frame::If(part @ Then)) => *part = Condition,
        (b"else", Frame::If(part @ Then)) => *part = Else,
        (b"fi", Frame::If(Then | Else))
        | (b"done", Frame::Loop { in_body: true })
        | (b"}", Frame::Group)
        | (b"esac", Frame::Case) => {
            frames.pop();
            return Some(ParseState::Compound);
        }
        (b"do", _) => return begin_body(frames),
        _ => return None,
    }
    Some(ParseState::Needed)
}

fn begin_body(frames: &mut [Frame]) -> Option<ParseState> {
    match frames.last_mut() {
        Some(Frame::Loop { in_body }) if !*in_body => *in_body = true,
        _ => return None,
    }
    Some(ParseState::Needed)
}

fn close(frames: &mut Vec<Frame>, frame: Frame) -> Option<ParseState> {
    (frames.pop()? == frame).then_some(ParseState::Compound)
}
