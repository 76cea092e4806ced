//! Walks the table of shapes.

use super::*;
use crate::redact::rules::Rule;

/// What this rule alone finds.
fn found(rule: &Rule, text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for keyword in rule.keywords {
        for (at, _) in text.match_indices(keyword) {
            rule.find_token(text, at..at + keyword.len(), &mut spans);
        }
    }
    rule.find_pattern(text, &mut spans);
    spans
}

#[test]
fn every_row_finds_its_example_and_not_its_near_miss() {
    for rule in &RULES {
        let (example, near_miss) = (expand(rule.example), expand(rule.near_miss));
        assert!(
            !example.is_empty() && !near_miss.is_empty(),
            "{}",
            rule.kind
        );
        assert!(
            !found(rule, &example).is_empty(),
            "{}: {example}",
            rule.kind
        );
        let wrong = found(rule, &near_miss);
        assert!(wrong.is_empty(), "{}: {near_miss}: {wrong:?}", rule.kind);
        let marker = format!("{MARKER}{}]", rule.kind);
        assert!(redact(&example).contains(&marker), "{}", redact(&example));
    }
}

#[test]
fn every_example_has_a_keyword() {
    for rule in &RULES {
        let example = expand(rule.example);
        let mut is_asked_for = false;
        Keywords::get().each_in(&example, |target, _| {
            if let Target::Token(i) | Target::Pattern(i) = target {
                is_asked_for |= std::ptr::eq(&raw const RULES[i], rule);
            }
        });
        assert!(is_asked_for, "{example}");
    }
}

/// Otherwise a marker behind the prefix would be taken for a value and redacted again.
#[test]
fn every_prefix_that_is_kept_is_known_before_a_marker() {
    for (prefix, _, kind) in tokens() {
        let shown = format!("{prefix}{MARKER}{kind}]");
        assert_eq!(marker_len(&shown), Some(shown.len()), "{shown}");
    }
}
