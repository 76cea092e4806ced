//! Rewrites a pattern for single lines so that one search covers a block of many lines.
//!
//! Searching a block of lines is several times faster than searching line by line. In a block, the
//! rewritten pattern matches the same text that the original matches in each line alone:
//!
//! - Nothing in it matches a line end, so no match goes beyond its line.
//! - `^`, `$`, `\A` and `\z` match at line ends, whatever the flags, because lines begin and end there.
//!   Word boundaries behave the same next to a line end as at the end of a text.
//!
//! No matching line is missed. A caller that needs the exact match must search again in the single
//! line.

use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
};

/// The bytes that end a searched text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnds {
    Newlines,
    /// A line with carriage returns is overwritten on the screen and holds several texts.
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

/// Rewrites the pattern: it matches the same in a single line, and never across a line end.
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
        // Nobody reads captured groups.
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
