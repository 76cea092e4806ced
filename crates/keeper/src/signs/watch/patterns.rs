//! Compiled patterns that search many lines at once.
//!
//! A pattern is about one line, but searching line by line is several times slower than searching a block of lines
//! at once. So each pattern is rewritten so that it finds in a block what it finds in the single lines
//! ([`outlive_core::by_line`]).
//!
//! Every line that is found is checked again by itself: around `\r\n` an empty match (`\B`) may be found that is in no
//! line. No match is missed.

use super::matcher::Matcher;
use outlive_core::by_line::{LineEnds, by_line};
use outlive_core::watch::Pattern;
use regex_automata::Input;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;
use std::fmt;

/// Compiled patterns.
#[derive(Debug)]
pub struct Patterns {
    /// All positive patterns in one search. `None` if there are none, or if they are too large together. Then each line
    /// is checked by itself.
    positive: Option<Matcher>,
    /// Each positive pattern and its number.
    each: Vec<(usize, Matcher)>,
    inverted: Vec<Matcher>,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    pub pattern: String,
    pub why: String,
}

/// A text matches. Holds the number of the first positive pattern that matches it, if there are positive patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PatternMatch {
    pub pattern: Option<usize>,
}

impl Patterns {
    pub fn compile(patterns: &[Pattern]) -> Result<Patterns, BadPattern> {
        let (mut positive, mut inverted) = (Vec::new(), Vec::new());
        for (number, pattern) in patterns.iter().enumerate() {
            let hir = for_lines(&parse(pattern)?);
            match pattern.is_inverted() {
                true => inverted.push((number, hir)),
                false => positive.push((number, hir)),
            }
        }
        let one = |(number, hir): &(usize, Hir)| {
            let regex =
                Matcher::new(hir).map_err(|error| bad(patterns[*number].source(), &error))?;
            Ok((*number, regex))
        };
        Ok(Patterns {
            each: positive.iter().map(one).collect::<Result<_, _>>()?,
            inverted: match any_of(&inverted).and_then(|all| Matcher::new(&all).ok()) {
                Some(all) => vec![all],
                None => inverted
                    .iter()
                    .map(|hir| one(hir).map(|(_, regex)| regex))
                    .collect::<Result<_, _>>()?,
            },
            positive: any_of(&positive).and_then(|all| Matcher::new(&all).ok()),
        })
    }

    /// Compiles one regular expression.
    pub fn regex(source: &str) -> Result<Patterns, BadPattern> {
        Patterns::compile(&[Pattern::Regex(source.to_owned())])
    }

    /// A byte of the first line at or after `from` that may match. The block consists of whole lines.
    pub(super) fn candidate(&self, block: &[u8], from: usize) -> Option<usize> {
        let at = match &self.positive {
            Some(positive) => positive.find(&Input::new(block).range(from..))?.start(),
            None => from,
        };
        // Behind the last newline there is no line.
        (at < block.len()).then_some(at)
    }

    /// Checks one text: a line, or the part of a line between two carriage returns.
    pub(super) fn find(&self, text: &[u8]) -> Option<PatternMatch> {
        let pattern = match self.each.as_slice() {
            [] => None,
            each => Some(each.iter().find(|(_, regex)| regex.is_match(text))?.0),
        };
        let passed_over = self.inverted.iter().any(|regex| regex.is_match(text));
        (!passed_over).then_some(PatternMatch { pattern })
    }
}

pub(super) fn parse(pattern: &Pattern) -> Result<Hir, BadPattern> {
    match pattern {
        Pattern::Text(text) | Pattern::NotText(text) => Ok(Hir::literal(text.as_bytes())),
        Pattern::Regex(source) | Pattern::NotRegex(source) => ParserBuilder::new()
            // The output is bytes, and need not be UTF-8.
            .utf8(false)
            .build()
            .parse(source)
            .map_err(|error| bad(source, &error)),
    }
}

/// One expression for all. `None` if there are none.
fn any_of(hirs: &[(usize, Hir)]) -> Option<Hir> {
    let all: Vec<Hir> = hirs.iter().map(|(_, hir)| hir.clone()).collect();
    (!all.is_empty()).then(|| Hir::alternation(all))
}

fn bad(pattern: &str, why: &dyn fmt::Display) -> BadPattern {
    BadPattern {
        pattern: pattern.to_owned(),
        why: why.to_string(),
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot be watched for: {}", self.pattern, self.why)
    }
}

impl std::error::Error for BadPattern {}

/// A match must not cross a carriage return: each state of a line that is written over is a text of its own.
pub(super) fn for_lines(hir: &Hir) -> Hir {
    by_line(hir, LineEnds::NewlinesAndReturns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_pattern_is_refused_with_its_reason() {
        let error = Patterns::regex("a(b").expect_err("refused");
        assert_eq!(error.pattern, "a(b");
        assert!(error.to_string().contains("unclosed group"), "{error}");
    }

    #[test]
    fn a_text_is_not_read_as_a_regular_expression() {
        let patterns = Patterns::compile(&[Pattern::Text("a.b[".into())]).expect("compiled");
        assert!(patterns.find(b"xa.b[y").is_some());
        assert!(patterns.find(b"axb[").is_none());
    }

    #[test]
    fn the_number_of_the_first_positive_pattern_is_reported() {
        let patterns = Patterns::compile(&[
            Pattern::NotText("quiet".into()),
            Pattern::Regex("b+".into()),
            Pattern::Text("a".into()),
        ])
        .expect("compiled");
        let number = |text: &str| patterns.find(text.as_bytes()).map(|found| found.pattern);
        assert_eq!(number("ab"), Some(Some(1)));
        assert_eq!(number("a"), Some(Some(2)));
        assert_eq!(number("c"), None);
        assert_eq!(number("ab quiet"), None);
    }

    #[test]
    fn inverted_patterns_alone_match_every_other_line() {
        let patterns = Patterns::compile(&[Pattern::NotRegex("^#".into())]).expect("compiled");
        assert_eq!(patterns.find(b"x"), Some(PatternMatch { pattern: None }));
        assert_eq!(patterns.find(b"# x"), None);
    }

    #[test]
    fn patterns_know_unicode() {
        for (source, text) in [
            (r"^\w+$", "größe"),
            ("(?i)ÄRGER", "ärger"),
            (r"\p{Greek}", "λ"),
        ] {
            let patterns = Patterns::regex(source).expect("compiled");
            assert!(patterns.find(text.as_bytes()).is_some(), "{source}");
        }
    }
}
