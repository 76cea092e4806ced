//! Every keyword of every rule, in one automaton.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::automaton::{Automaton, OverlappingState};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, MatchKind};

use super::rules::{Case, Shape};
use super::table::RULES;
use super::{names, pem};

/// The automaton searches for at most this many bytes of a keyword, and the rest is compared. Every process that
/// redacts must build the automaton, which takes one or two milliseconds.
const MAX_OPENING: usize = 6;

/// What is done when a keyword is found.
#[derive(Clone, Copy)]
pub(super) enum Target {
    /// The rule with this index checks the token that starts here.
    Token(usize),
    /// The rule with this index searches the line.
    Pattern(usize),
    /// The name that contains the keyword is checked.
    Name,
    PrivateKey,
}

pub(super) struct Keywords {
    automaton: DFA,
    keywords: Vec<Keyword>,
}

struct Keyword {
    text: String,
    case: Case,
    target: Target,
}

impl Keyword {
    fn new(text: &str, case: Case, target: Target) -> Keyword {
        Keyword {
            text: text.to_owned(),
            case,
            target,
        }
    }

    /// The part of the keyword that the automaton searches for.
    fn opening(&self) -> &str {
        &self.text[..self.text.len().min(MAX_OPENING)]
    }

    /// The range of the keyword at `at`, if all of it is there. The automaton ignores case, so that names need not be
    /// listed in each case.
    fn find(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let all = at..at + self.text.len();
        let found = text.as_bytes().get(all.clone())?;
        let is_it = match self.case {
            Case::Ignored => found.eq_ignore_ascii_case(self.text.as_bytes()),
            Case::Exact => found == self.text.as_bytes(),
        };
        is_it.then_some(all)
    }
}

impl Keywords {
    pub(super) fn get() -> &'static Self {
        static KEYWORDS: LazyLock<Keywords> = LazyLock::new(Keywords::new);
        &KEYWORDS
    }

    fn new() -> Self {
        let mut keywords = Vec::new();
        for text in pem::KEYWORDS {
            keywords.push(Keyword::new(text, Case::Exact, Target::PrivateKey));
        }
        for text in names::KEYWORDS {
            keywords.push(Keyword::new(text, Case::Ignored, Target::Name));
        }
        for (i, rule) in RULES.iter().enumerate() {
            let target = match rule.shape {
                Shape::Token { .. } => Target::Token(i),
                Shape::Pattern { .. } => Target::Pattern(i),
            };
            for text in rule.keywords {
                keywords.push(Keyword::new(text, rule.case, target));
            }
            if rule.kind == "discord-token" {
                for text in discord_openings() {
                    keywords.push(Keyword::new(&text, Case::Exact, target));
                }
            }
        }
        let automaton = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(aho_corasick::StartKind::Unanchored)
            .build(keywords.iter().map(Keyword::opening))
            .expect("a few hundred short keywords");
        Self {
            automaton,
            keywords,
        }
    }

    /// A position within the first keyword at or after `from`: its last byte.
    pub(super) fn first_in(&self, text: &str, from: usize) -> Option<usize> {
        let mut first = None;
        self.search(text, from, |_, at| {
            first = Some(at.end - 1);
            false
        });
        first
    }

    /// Calls `look` for each keyword in `line`, including keywords that overlap.
    pub(super) fn each_in(&self, line: &str, mut look: impl FnMut(Target, Range<usize>)) {
        self.search(line, 0, |target, at| {
            look(target, at);
            true
        });
    }

    /// Calls `look` for each keyword, until `look` returns `false`.
    fn search(&self, text: &str, from: usize, mut look: impl FnMut(Target, Range<usize>) -> bool) {
        let input = Input::new(text)
            .span(from..text.len())
            .anchored(Anchored::No);
        let mut state = OverlappingState::start();
        while self
            .automaton
            .try_find_overlapping(&input, &mut state)
            .is_ok()
            && let Some(found) = state.get_match()
        {
            let keyword = &self.keywords[found.pattern().as_usize()];
            if let Some(at) = keyword.find(text, found.start())
                && !look(keyword.target, at)
            {
                return;
            }
        }
    }
}

/// The first four characters that a Discord bot token can have. It starts with a decimal number in base64, of which
/// four characters encode three digits. Three characters would be enough, but they would match half of all words,
/// because the automaton ignores case.
fn discord_openings() -> impl Iterator<Item = String> {
    let firsts = ["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"];
    let thirds = "AEIMQUYcgk".chars();
    firsts.into_iter().flat_map(move |first| {
        let lasts = |third| "wxyz012345".chars().map(move |last| (third, last));
        let pairs = thirds.clone().flat_map(lasts);
        pairs.map(move |(third, last)| format!("{first}{third}{last}"))
    })
}
