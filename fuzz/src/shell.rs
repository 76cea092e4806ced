//! A shell string loses only its trailing `&`, and a string without one stays unchanged.

use crate::read;
use outlive::fuzzing::foreground;

pub fn check(bytes: &[u8]) {
    let Some(script) = read::<&str>(bytes) else {
        return;
    };
    let Some(rewritten) = foreground(script) else {
        return;
    };
    let at = script
        .rfind('&')
        .map(|_| ())
        .and(first_difference(script, &rewritten));
    let at = at.unwrap_or(rewritten.len());
    assert_eq!(
        script.as_bytes().get(at),
        Some(&b'&'),
        "{script:?} became {rewritten:?}"
    );
    let rest = &script[at + 1..];
    let now = &rewritten[at..];
    assert!(
        now == rest || now.strip_prefix(' ') == Some(rest),
        "{script:?} became {rewritten:?}"
    );
    assert_eq!(foreground(&rewritten), None);
}

fn first_difference(one: &str, other: &str) -> Option<usize> {
    one.bytes().zip(other.bytes()).position(|(a, b)| a != b)
}
