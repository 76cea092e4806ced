//! A plain implementation to compare with: each line is split, stripped and matched by itself.

use super::Windows;
use outlive_core::watch::{Match, Pattern};
use regex::bytes::Regex;
use std::sync::LazyLock;

static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    let string = r"[\]PX^_k][^\x07\x18\x1a\x1b]*[\x07\x18\x1a]?";
    let control = r"\[[\x20-\x3f]*[\x40-\x7e]?";
    let short = r"[\x20-\x2f]*[\x30-\x7e]?";
    Regex::new(&format!(r"(?s-u)\x1b(?:{control}|{string}|{short})")).expect("it compiles")
});

/// Everything that must be reported for a stream that paused at these offsets.
pub fn matches(
    patterns: &[Pattern],
    windows: Windows,
    stream: &[u8],
    stills: &[usize],
) -> Vec<Match> {
    let judges: Vec<(bool, Regex)> = patterns
        .iter()
        .map(|pattern| {
            let source = match pattern {
                Pattern::Text(text) | Pattern::NotText(text) => regex::escape(text),
                Pattern::Regex(source) | Pattern::NotRegex(source) => source.clone(),
            };
            (
                pattern.is_inverted(),
                Regex::new(&source).expect("it compiles"),
            )
        })
        .collect();
    let mut told = Vec::new();
    let mut start = 0;
    for line in stream.split_inclusive(|byte| *byte == b'\n') {
        let complete = line.ends_with(b"\n");
        let content = &line[..line.len() - usize::from(complete)];
        let inside: Vec<usize> = stills
            .iter()
            .filter(|at| (start + 1..=start + content.len()).contains(*at))
            .map(|at| at - start)
            .collect();
        let looks = looks(content.len(), complete, &inside, windows);
        let first = looks.into_iter().find_map(|(from, to, whole)| {
            let (pattern, text) = judge(&judges, &content[from..to], whole)?;
            Some((to, pattern, text))
        });
        if let Some((to, pattern, text)) = first {
            told.push(Match {
                offset: start as u64,
                end: (start + to) as u64,
                pattern,
                text: String::from_utf8_lossy(&text).into_owned(),
            });
        }
        start += line.len();
    }
    told
}

/// The ranges of a line that are checked, in order, and whether each is the whole line.
fn looks(
    length: usize,
    complete: bool,
    stills: &[usize],
    windows: Windows,
) -> Vec<(usize, usize, bool)> {
    let mut looks = Vec::new();
    let mut from = 0;
    for come in 1..=length {
        if come - from > windows.size {
            looks.push((from, from + windows.size, false));
            from += windows.step;
        }
        if stills.contains(&come) {
            looks.push((from, come, false));
        }
    }
    if complete {
        looks.push((from, length, from == 0));
    }
    looks
}

fn judge(judges: &[(bool, Regex)], raw: &[u8], whole: bool) -> Option<(Option<usize>, Vec<u8>)> {
    let mut texts: Vec<Vec<u8>> = raw
        .split(|byte| *byte == b'\r')
        .map(|state| ESCAPES.replace_all(state, &b""[..]).into_owned())
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() && whole {
        texts.push(Vec::new());
    }
    let none_positive = judges.iter().all(|(inverted, _)| *inverted);
    texts.into_iter().find_map(|text| {
        let excluded = judges
            .iter()
            .any(|(inverted, regex)| *inverted && regex.is_match(&text));
        let pattern = judges
            .iter()
            .position(|(inverted, regex)| !inverted && regex.is_match(&text));
        ((pattern.is_some() || none_positive) && !excluded).then_some((pattern, text))
    })
}
