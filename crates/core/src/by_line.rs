//! A pattern that is asked of one line, rewritten so that many lines are searched in one go.
//!
//! Searching a block of lines is several times faster than searching line by line. In a block the
//! rewritten pattern finds what the pattern finds in the lines by themselves:
//!
//! * nothing in it matches a line end, so no match goes beyond its line; no text that is matched has
//!   a line end in it;
//! * `^`, `$`, `\A` and `\z`, whatever the flags, are at line ends: where the texts begin and end. Word
//!   boundaries are the same next to a line end as at the end of a text.
//!
//! No line that matches is missed. Whoever needs to be sure of what was found confirms it in its line
//! alone.

use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
};

/// What ends a text that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    Newlines,
    /// A line that is written over has several texts, with a carriage return between two.
    NewlinesAndReturns,
}

impl LineEnds {
    fn bytes(self) -> &'static [u8] {
        match self {
            LineEnds::Newlines => b"\n",
            LineEnds::NewlinesAndReturns => b"\n\r",
        }
    }

    fn start(self) -> Look {
        match self {
            LineEnds::Newlines => Look::StartLF,
            LineEnds::NewlinesAndReturns => Look::StartCRLF,
        }
    }

    fn end(self) -> Look {
        match self {
            LineEnds::Newlines => Look::EndLF,
            LineEnds::NewlinesAndReturns => Look::EndCRLF,
        }
    }
}

/// The same for a text without line ends, and in a block of lines never beyond a line.
pub fn by_line(hir: &Hir, ends: LineEnds) -> Hir {
    let part = |hir| by_line(hir, ends);
    match hir.kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.iter().any(|byte| ends.bytes().contains(byte)) => {
            Hir::fail()
        }
        HirKind::Literal(literal) => Hir::literal(literal.0.clone()),
        HirKind::Class(class) => Hir::class(without(class, ends)),
        HirKind::Look(look) => Hir::look(at(*look, ends)),
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(part(&repetition.sub))),
        // Nobody asks what a group has caught.
        HirKind::Capture(capture) => part(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(part).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(part).collect()),
    }
}

fn without(class: &Class, ends: LineEnds) -> Class {
    let ends = ends.bytes().iter();
    match class {
        Class::Unicode(class) => {
            let mut class = class.clone();
            class.difference(&ClassUnicode::new(
                ends.map(|end| ClassUnicodeRange::new(char::from(*end), char::from(*end))),
            ));
            Class::Unicode(class)
        }
        Class::Bytes(class) => {
            let mut class = class.clone();
            class.difference(&ClassBytes::new(
                ends.map(|end| ClassBytesRange::new(*end, *end)),
            ));
            Class::Bytes(class)
        }
    }
}

fn at(look: Look, ends: LineEnds) -> Look {
    match look {
        Look::Start | Look::StartLF | Look::StartCRLF => ends.start(),
        Look::End | Look::EndLF | Look::EndCRLF => ends.end(),
        word => word,
    }
}
