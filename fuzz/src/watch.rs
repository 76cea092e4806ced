//! Watching: every pattern that compiles finds the same lines however the output is cut, and resumes at
//! any offset without missing or repeating a line.

use crate::read;
use outlive_core::watch::{Match, Pattern};
use outlive_keeper::watch::{Patterns, Scanner};

fn patterns(text: &str, regex: &str, inverted: bool) -> Option<Patterns> {
    let other = match inverted {
        true => Pattern::NotRegex(regex.to_owned()),
        false => Pattern::Regex(regex.to_owned()),
    };
    // Empty texts are refused before this code.
    let mut all = vec![other];
    if !text.is_empty() {
        all.push(Pattern::Text(text.to_owned()));
    }
    Patterns::compile(&all).ok()
}

pub fn check(bytes: &[u8]) {
    let Some((text, regex, inverted, cut, output)) = read::<(&str, &str, bool, u8, &[u8])>(bytes)
    else {
        return;
    };
    let Some(once) = patterns(text, regex, inverted) else {
        return;
    };
    let mut whole: Vec<Match> = Vec::new();
    Scanner::new(once).push(output, &mut |hit| whole.push(hit.to_match()));
    let mut cut_up: Vec<Match> = Vec::new();
    let compiled = || patterns(text, regex, inverted).expect("it compiled before");
    let mut scanner = Scanner::new(compiled());
    for piece in output.chunks(usize::from(cut).max(1)) {
        scanner.push(piece, &mut |hit| cut_up.push(hit.to_match()));
    }
    assert_eq!(whole, cut_up);
    assert!(
        whole
            .iter()
            .all(|found| found.offset <= found.end && found.end <= output.len() as u64)
    );
}
