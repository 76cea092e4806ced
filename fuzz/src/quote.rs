//! Quoted text of others: no line but a marked one, no end of a string but the last, no tag, and nothing that acts.

use crate::read;
use outlive_core::quote::{self, is_shown};

/// Whether a `<` could begin a tag.
fn has_tag(text: &str) -> bool {
    let after = text.split('<').skip(1);
    after
        .filter_map(|after| after.chars().next())
        .any(|next| next.is_alphabetic() || "/!?|".contains(next))
}

pub fn check(bytes: &[u8]) {
    let Some((most, text)) = read::<(u8, &str)>(bytes) else {
        return;
    };
    let block = quote::block(text);
    assert!(!has_tag(&block));
    assert!(block.chars().all(|c| is_shown(c) || "\n\t".contains(c)));
    assert!(
        block
            .split('\n')
            .all(|line| line == "|" || line.starts_with("| "))
    );
    let line = quote::line(text);
    assert!(!has_tag(&line) && line.chars().all(is_shown));
    let string = quote::string(text, most.into());
    assert!(!has_tag(&string) && string.chars().all(is_shown));
    // A backslash escapes the character after it, and no other quote is inside.
    let mut inner = string[1..string.len() - 1].chars();
    while let Some(c) = inner.next() {
        assert!(c != '"' && (c != '\\' || inner.next().is_some()));
    }
    let word = quote::word(text, most.into());
    assert!(word == string || (word == text && !text.contains(['"', ' ', '(', '[', '\\'])));
    assert_eq!(quote::visible(&block), block);
}
