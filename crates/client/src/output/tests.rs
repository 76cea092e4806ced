use super::blocks::Sizes;
use super::*;
use outlive_core::WallTime;
use outlive_core::index::Mark;
use proptest::prelude::*;
use std::os::unix::fs::FileExt;

/// An output with these bytes, some missing ranges, and marks every `spacing` bytes.
pub(super) fn output(bytes: &[u8], missing: Vec<Range<u64>>, spacing: usize) -> Output {
    let file = tempfile::tempfile().expect("a temporary file");
    let mut kept = bytes.to_vec();
    for range in &missing {
        kept[range.start as usize..range.end as usize].fill(0);
    }
    file.write_all_at(&kept, 0).expect("written");
    let mark = |end: usize| Mark {
        offset: end as u64,
        newlines: newlines(&bytes[..end]),
        at: WallTime::from_ms(end as u64),
    };
    let marks: Vec<u8> = (spacing..=bytes.len())
        .step_by(spacing)
        .chain([bytes.len()])
        .flat_map(|end| mark(end).encode())
        .collect();
    let index = OnceCell::new();
    let _ = index.set(Index::parse(&marks));
    Output {
        dir: JobDir::at("/nowhere".into()),
        files: Some(Files::Here(OutputFiles::of(file, None))),
        bound: None,
        size: bytes.len() as u64,
        missing,
        index,
        apart: None,
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The line number of each byte, counted in the simplest way.
fn line_of(bytes: &[u8], at: usize) -> u64 {
    1 + newlines(&bytes[..at])
}

proptest! {
    #[test]
    fn the_tail_starts_at_the_last_lines(text in "[ab\n]{0,60}", lines in 0u64..8, spacing in 1usize..20) {
        let output = output(text.as_bytes(), Vec::new(), spacing);
        let start = output.tail(lines).expect("read") as usize;
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let expected: String = all[all.len().saturating_sub(lines as usize)..].concat();
        prop_assert_eq!(&text[start..], expected);
    }

    #[test]
    fn a_part_has_the_line_numbers_of_the_whole_output(text in "[ab\n]{1,60}", a in 0usize..60, b in 0usize..60, spacing in 1usize..20) {
        let bytes = text.as_bytes();
        let (from, to) = (a.min(b).min(bytes.len()), a.max(b).min(bytes.len()));
        let id = JobId::parse("x").expect("valid");
        let log = output(bytes, Vec::new(), spacing).text(&id, from as u64..to as u64, Look::Raw).expect("read");
        prop_assert_eq!(&log.text, &text[from..to]);
        prop_assert_eq!(log.position.total_lines, line_of(bytes, bytes.len() - 1));
        if from < to {
            prop_assert_eq!(log.position.from_line, line_of(bytes, from));
            prop_assert_eq!(log.position.to_line, line_of(bytes, to - 1));
        }
    }

    #[test]
    fn line_start_finds_every_line(text in "[ab\n]{0,60}", spacing in 1usize..20, line in 1u64..70) {
        let output = output(text.as_bytes(), Vec::new(), spacing);
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let expected: usize = all.iter().take(line as usize - 1).map(|line| line.len()).sum();
        prop_assert_eq!(output.line_start(line).expect("read"), expected as u64);
    }

    /// When the middle is missing, the rest keeps its offsets and line numbers.
    #[test]
    fn a_missing_middle_changes_no_offset_and_no_line_number(text in "[ab\n]{30,80}", start in 1u64..15, length in 1u64..14, spacing in 1usize..12, line in 1u64..80) {
        let bytes = text.as_bytes();
        let missing = start..start + length;
        let output = output(bytes, vec![missing.clone()], spacing);
        let mut seen = Vec::new();
        for piece in output.pieces(0..output.size) {
            match piece.expect("read") {
                Piece::Bytes {
                    at, bytes: piece, ..
                } => {
                    prop_assert_eq!(at, seen.len() as u64);
                    seen.extend(piece);
                }
                Piece::Missing(range) => {
                    prop_assert_eq!(&range, &missing);
                    seen.extend(&bytes[range.start as usize..range.end as usize]);
                }
            }
        }
        prop_assert_eq!(seen, bytes);
        for offset in [0, start, missing.end, missing.end + 3, output.size] {
            prop_assert_eq!(output.newlines_before(offset).expect("read"), newlines(&bytes[..offset as usize]), "before {}", offset);
        }
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let begins: u64 = all.iter().take(line as usize - 1).map(|line| line.len() as u64).sum();
        // A line begins after a missing range only if the newline before it exists.
        let expected = match begins > missing.start && begins <= missing.end {
            true => missing.end,
            false => begins,
        };
        prop_assert_eq!(output.line_start(line).expect("read"), expected);
    }
}

/// What is dropped after an output was opened is reported as missing and not read as zeros.
#[test]
fn bytes_dropped_after_opening_are_reported_as_missing() {
    let bound = Bound::new(outlive_core::bound::MIN_OUTPUT);
    let before = outlive_core::bound::MIN_OUTPUT;
    let mut opened = output(&vec![7; before as usize], Vec::new(), 10_000);
    opened.bound = Some(bound);
    let now = before + 5 * bound.stride();
    let dropped = bound.dropped(now);
    let Some(Files::Here(files)) = &opened.files else {
        panic!("it is here");
    };
    let zeros = vec![0; (dropped.end - dropped.start) as usize];
    files.file().set_len(now).expect("grown");
    files
        .file()
        .write_all_at(&zeros, dropped.start)
        .expect("written");
    let mut missing = Vec::new();
    let mut end = 0;
    for piece in opened.pieces(0..before) {
        match piece.expect("read") {
            Piece::Bytes { at, bytes, .. } => {
                assert!(!bytes.contains(&0), "zeros at {at}");
                end = at + bytes.len() as u64;
            }
            Piece::Missing(range) => missing.push(range),
        }
    }
    assert_eq!((missing, end), (vec![dropped], before));
}

#[test]
fn a_printed_cursor_parses_to_the_same_cursor() {
    assert_eq!(Cursor::parse(&Cursor(42).to_string()), Ok(Cursor(42)));
    for bad in ["", "42", "b", "b-1", "bx"] {
        assert!(Cursor::parse(bad).is_err(), "{bad:?} was a cursor");
    }
}

/// Output of all kinds: text, lines, colours, progress bars, other encodings, control characters.
fn any_output() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => "[ab ]{0,4}".prop_map(String::into_bytes),
        3 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"\x08".to_vec()),
        2 => Just(b"\x1b[31m".to_vec()),
        1 => Just(b"\x1b[K".to_vec()),
        1 => Just(b"\x1b[2D\x1b[1K".to_vec()),
        1 => Just(b"\x1b]0;a\x07".to_vec()),
        1 => Just("\u{9b}é日".as_bytes().to_vec()),
        1 => Just(b"\xff\xc3\x9b".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
        1 => Just(vec![b'a'; 40]),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn any_pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "b a",
        "^a",
        "a$",
        "^$",
        "",
        r"\Aa",
        r"b\z",
        "(?s)a.*b",
        "[^a]b",
        r"\s",
        r"a\nb",
        r"\bab\b",
        r"\B",
        "(?i)A+ ?B",
        "é|日",
        "(?-u)\\xff",
        r"a\r",
        "(?R)a$",
        "\u{fffd}",
        "31m",
        "^[^b]*$",
        "(?m)^b$",
        "(?-m)^ab",
        r"\w+ \w+",
        "a{30}",
    ])
}

/// Splits into lines in the simplest way: each present range by itself, without incomplete lines.
fn lines_by_hand(bytes: &[u8], missing: &[Range<u64>], longest: usize) -> Vec<Line> {
    let ends = missing.iter().map(|range| range.start as usize);
    let starts = missing.iter().map(|range| range.end as usize);
    let stretches = std::iter::once(0)
        .chain(starts)
        .zip(ends.chain([bytes.len()]))
        .enumerate();
    let mut lines = Vec::new();
    for (place, (start, end)) in stretches {
        let mut offset = start;
        let pieces = bytes[start..end].split_inclusive(|byte| *byte == b'\n');
        for (number, line) in pieces.enumerate() {
            let lost_beginning = place > 0 && number == 0;
            let lost_end = place < missing.len() && !line.ends_with(b"\n");
            for part in line.chunks(longest) {
                // The first parts of a very long line are returned before its end is known.
                if !lost_beginning && (!lost_end || part.len() == longest) {
                    lines.push(Line {
                        number: line_of(bytes, offset),
                        offset: offset as u64,
                        bytes: part.to_vec(),
                    });
                }
                offset += part.len();
            }
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Searching blocks of bytes finds the same lines as searching each line as it is shown.
    #[test]
    fn a_search_matches_the_text_that_is_shown(
        bytes in any_output(),
        source in any_pattern(),
        hole in prop::option::of((0u64..60, 1u64..60)),
        spacing in 1usize..20,
        read in 1usize..50,
        line in 0usize..60,
        raw: bool,
    ) {
        let size = bytes.len() as u64;
        let hole = hole.map(|(start, length)| start.min(size)..(start + length).min(size));
        let missing: Vec<Range<u64>> = hole.into_iter().filter(|range| !range.is_empty()).collect();
        let sizes = Sizes { read, line: read + line };
        let output = output(&bytes, missing.clone(), spacing);
        let pattern = LinePattern::new(source).expect("a pattern");
        let one = regex::bytes::Regex::new(source).expect("a pattern");
        let (searched, reading) = match raw {
            true => (Searched::Bytes, Reading::Raw),
            false => (Searched::Text, Reading::Plain),
        };
        let by_hand = lines_by_hand(&bytes, &missing, sizes.line).into_iter().map(Ok);
        let expected: Vec<Line> = read_as(reading, by_hand)
            .map(|line| line.expect("read"))
            .filter(|line| one.is_match(line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes)))
            .collect();
        let found = output.search_in(0..size, &pattern, searched, sizes).expect("begun");
        let found: Vec<Line> = found.flat_map(|lines| lines.expect("read")).collect();
        prop_assert_eq!(found, expected);
    }

    /// Reads return the same lines, however the reads are split.
    #[test]
    fn lines_are_split_at_their_newlines(bytes in any_output(), start in 0u64..60, length in 1u64..60, spacing in 1usize..20) {
        let size = bytes.len() as u64;
        let missing = start.min(size)..(start + length).min(size);
        let missing: Vec<Range<u64>> = [missing].into_iter().filter(|range| !range.is_empty()).collect();
        let output = output(&bytes, missing.clone(), spacing);
        let lines: Vec<Line> = output.lines(0..size).expect("begun").map(|line| line.expect("read")).collect();
        prop_assert_eq!(lines, lines_by_hand(&bytes, &missing, usize::MAX));
    }
}

/// If a search went beyond its line, each line would cost a scan of the whole output.
#[test]
fn a_pattern_that_matches_anything_stays_in_its_line() {
    let text = "foo bar\n".repeat(200_000);
    let output = output(text.as_bytes(), Vec::new(), 1 << 20);
    let pattern = LinePattern::new("(?s)foo.*baz|foo[^x]*baz").expect("a pattern");
    let mut found = output
        .search(0..output.size, &pattern, Searched::Text)
        .expect("begun");
    assert!(found.next().is_none());
}

/// A match is returned before the rest of the output has been read.
#[test]
fn matches_are_returned_as_they_are_found() {
    let text = "one\n".repeat(100_000);
    let output = output(text.as_bytes(), Vec::new(), 1 << 20);
    let pattern = LinePattern::new("one").expect("a pattern");
    let mut found = output
        .search(0..output.size, &pattern, Searched::Text)
        .expect("begun");
    let first = found.next().expect("some").expect("read");
    assert!(first.len() < 50_000, "{} at once", first.len());
    assert_eq!(first[0].number, 1);
}
