use super::super::patterns::{for_lines, parse};
use super::*;
use outlive_core::watch::Pattern;
use proptest::prelude::*;
use regex::bytes::Regex;

/// A sieve with lanes so short that a small text has many.
fn sieve(source: &str, lane: usize) -> Sieve {
    let hir = parse(&Pattern::Regex(source.into())).expect("it parses");
    let sieve = Sieve::new(&for_lines(&hir)).expect("it is small enough");
    Sieve { lane, ..sieve }
}

/// The starts of the lines in which a plain search of each line finds a match.
fn plainly(source: &str, block: &[u8]) -> Vec<usize> {
    let regex = Regex::new(source).expect("it compiles");
    let mut start = 0;
    let mut found = Vec::new();
    for line in block.split_inclusive(|byte| *byte == b'\n') {
        if matches(&regex, line) {
            found.push(start);
        }
        start += line.len();
    }
    found
}

/// A line matches if one of its states that is not empty matches. An empty line is a state.
fn matches(regex: &Regex, line: &[u8]) -> bool {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let states = line.split(|byte| *byte == b'\r');
    let mut texts = states.filter(|text| !text.is_empty()).peekable();
    match texts.peek() {
        None => regex.is_match(b""),
        Some(_) => texts.any(|text| regex.is_match(text)),
    }
}

/// The same for the lines that the sieve lets through, and how many lines these are.
fn sifted(source: &str, block: &[u8], lane: usize) -> (Vec<usize>, usize) {
    let regex = Regex::new(source).expect("it compiles");
    let sieve = sieve(source, lane);
    let first_match = |range: Range<usize>| {
        let found = plainly(source, &block[range.clone()]);
        found.first().map(|at| range.start + at)
    };
    let (mut found, mut let_through, mut from) = (Vec::new(), 0, 0);
    while from < block.len() {
        let Some(at) = sieve.first(block, from, first_match) else {
            break;
        };
        assert!((from..block.len()).contains(&at), "{at} of {from}..");
        let before = block[..at].iter().rposition(|byte| *byte == b'\n');
        let start = before.map_or(0, |newline| newline + 1);
        let end = end_of_line(block, at);
        let_through += 1;
        if matches(&regex, &block[start..end]) {
            found.push(start);
        }
        from = end;
    }
    (found, let_through)
}

const SOURCES: &[&str] = &[
    "[A-Z]{3,}",
    r"\w{4,}",
    "[^ ]{5,}",
    r"^\d+$",
    r"\b[a-z]\d\b",
    r"\B-\B",
    r"^[a-z]?$",
    r"\A\s|\S\z",
    r"(?i)[k-s]{4}",
    r"\d{2}|[A-C]{2,4}x?",
    r"(?-u)[\x80-\xff]{2}",
    r"\p{Lu}{2}",
    "$",
    "x*",
];

const PIECES: &[&[u8]] = &[
    b"a",
    b"k7",
    b"ABC",
    b"Zq",
    b"42",
    b" ",
    b"  ",
    b"-",
    b"_x",
    b"\n",
    b"\n\n",
    b"\r\n",
    b"\r",
    "\u{e9}".as_bytes(),
    "\u{c4}\u{d6}".as_bytes(),
    "\u{212a}".as_bytes(),
    b"\xff\xfe",
    b"s 1",
];

proptest! {
    #[test]
    fn no_line_is_passed_over_that_a_plain_search_finds(
        source in prop::sample::select(SOURCES),
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..400),
        lane in 1..100usize,
    ) {
        let mut block = pieces.concat();
        block.push(b'\n');
        prop_assert_eq!(sifted(source, &block, lane).0, plainly(source, &block));
    }
}

#[test]
fn lines_without_a_match_are_skipped() {
    let lines = "INFO 2025-06-01 12:00 served, 200 OK in 3 ms\n".repeat(3000);
    let with_one = format!("{lines}ERRORS AND MORE\n{lines}");
    for source in [
        "[A-Z]{5,}",
        r"\w{20,}|^\p{Lu}{5}",
        r"\b[A-F]{5}",
        "[^ 0-9]{8}$|[A-Z]{6}",
    ] {
        let regex = Regex::new(source).expect("it compiles");
        assert_eq!(
            sifted(source, lines.as_bytes(), LANE),
            (vec![], 0),
            "{source}"
        );
        let (found, let_through) = sifted(source, with_one.as_bytes(), LANE);
        let expected = if regex.is_match(b"ERRORS AND MORE") {
            vec![lines.len()]
        } else {
            vec![]
        };
        assert_eq!(
            (found, let_through),
            (expected.clone(), expected.len()),
            "{source}"
        );
    }
}

#[test]
fn an_expression_of_too_many_states_has_no_sieve() {
    let hir = parse(&Pattern::Regex("[a-z]{400}".into())).expect("it parses");
    assert!(Sieve::new(&for_lines(&hir)).is_none());
}

#[test]
fn large_classes_are_covered_in_ascii_only() {
    let ascii = sieve(r"\w{20,}", LANE);
    assert_eq!(ascii.knows, Bytes::Ascii);
    let asked = std::cell::Cell::new(0);
    let first = |block: &[u8]| {
        ascii.first(block, 0, |_| {
            asked.set(asked.get() + 1);
            None
        })
    };
    assert_eq!((first(b"short words\n"), asked.get()), (None, 0));
    assert_eq!(
        (first("gr\u{fc}\u{df}e\n".as_bytes()), asked.get()),
        (None, 1)
    );
    assert_eq!(sieve("[A-Z]{9,}", LANE).knows, Bytes::All);
}
