use super::*;
use crate::output::tests::output;
use crate::output::{LinePattern, Look, Searched};
use outlive_core::JobId;
use outlive_core::streams::{Encoder, Stream, Switch};
use proptest::prelude::*;
use std::os::unix::fs::FileExt;

/// Pieces of an output, each with its stream.
fn parts() -> impl Strategy<Value = Vec<(Stream, String)>> {
    let part = (prop::bool::ANY, "[ab\n]{1,8}");
    let stream = |is_error| {
        if is_error {
            Stream::Stderr
        } else {
            Stream::Stdout
        }
    };
    let part = part.prop_map(move |(is_error, text)| (stream(is_error), text));
    prop::collection::vec(part, 1..20)
}

/// An output that consists of these parts, of which only one stream is read.
fn read_of(only: Stream, parts: &[(Stream, String)], missing: Vec<Range<u64>>) -> Output {
    let bytes: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    let file = tempfile::tempfile().expect("a temporary file");
    let mut encoder = Encoder::default();
    let mut offset = 0;
    for (stream, text) in parts {
        let switch = Switch {
            offset,
            stream: *stream,
        };
        if let Some(entry) = encoder.entry(switch) {
            file.write_all_at(entry.bytes(), entry.at).expect("written");
            encoder.wrote(&entry);
        }
        offset += text.len() as u64;
    }
    Output {
        apart: Some(Apart {
            runs: Some(Runs::of(file).expect("runs")),
            only: Some(only),
        }),
        ..output(bytes.as_bytes(), missing, 7)
    }
}

/// The bytes of a stream with their offsets, found in the simplest way.
fn bytes_of(only: Stream, parts: &[(Stream, String)]) -> Vec<(u64, u8)> {
    let mut offset = 0;
    let mut found = Vec::new();
    for (stream, text) in parts {
        for byte in text.bytes() {
            if *stream == only {
                found.push((offset, byte));
            }
            offset += 1;
        }
    }
    found
}

/// The lines of these bytes: where each begins, and its text.
fn lines_in(bytes: &[(u64, u8)]) -> Vec<(u64, Vec<u8>)> {
    let lines = bytes.split_inclusive(|(_, byte)| *byte == b'\n');
    lines
        .map(|line| (line[0].0, line.iter().map(|(_, byte)| *byte).collect()))
        .collect()
}

fn text_from(output: &Output, from: u64, to: u64) -> Vec<u8> {
    let id = JobId::parse("x").expect("valid");
    let page = output.text(&id, from..to, Look::Raw).expect("read");
    page.text.into_bytes()
}

proptest! {
    // Each case makes files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_range_has_the_bytes_of_its_stream(parts in parts(), a in 0u64..160, b in 0u64..160) {
        for only in [Stream::Stdout, Stream::Stderr] {
            let output = read_of(only, &parts, Vec::new());
            let (from, to) = (a.min(b), a.max(b));
            let expected: Vec<u8> = bytes_of(only, &parts)
                .into_iter()
                .filter(|(at, _)| (from..to).contains(at))
                .map(|(_, byte)| byte)
                .collect();
            prop_assert_eq!(text_from(&output, from, to), expected);
        }
    }

    #[test]
    fn the_tail_is_the_last_lines_of_its_stream(parts in parts(), count in 0u64..8) {
        for only in [Stream::Stdout, Stream::Stderr] {
            let output = read_of(only, &parts, Vec::new());
            let lines = lines_in(&bytes_of(only, &parts));
            let expected = lines[lines.len().saturating_sub(count as usize)..].iter();
            let expected: Vec<u8> = expected.flat_map(|(_, text)| text.clone()).collect();
            let from = output.tail(count).expect("read");
            prop_assert_eq!(text_from(&output, from, output.size), expected);
        }
    }

    #[test]
    fn lines_are_whole_and_numbered_as_in_the_whole_output(parts in parts()) {
        let all: Vec<u8> = parts.iter().flat_map(|(_, text)| text.bytes()).collect();
        for only in [Stream::Stdout, Stream::Stderr] {
            let output = read_of(only, &parts, Vec::new());
            let expected: Vec<Line> = lines_in(&bytes_of(only, &parts))
                .into_iter()
                .map(|(offset, bytes)| Line {
                    number: 1 + memchr_iter(b'\n', &all[..offset as usize]).count() as u64,
                    offset,
                    bytes,
                })
                .collect();
            let found: Result<Vec<Line>, _> = output.lines(0..output.size).expect("read").collect();
            prop_assert_eq!(found.expect("read"), expected.clone());
            let pattern = LinePattern::new("ab|^$").expect("valid");
            let hits = output.search(0..output.size, &pattern, Searched::Bytes).expect("read");
            let hits: Vec<Line> = hits.flat_map(|hits| hits.expect("read")).collect();
            let matching = expected.into_iter().filter(|line| pattern.is_match(&line.bytes));
            prop_assert_eq!(hits, matching.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_line_begins_behind_the_newline_before_it(parts in parts(), at in 0u64..160, count in 1u64..5) {
        for only in [Stream::Stdout, Stream::Stderr] {
            let output = read_of(only, &parts, Vec::new());
            let at = at.min(output.size);
            let bytes = bytes_of(only, &parts);
            let before: Vec<u8> = text_from(&output, 0, at);
            let begin = output.line_begin_of(only, at).expect("read");
            let line = text_from(&output, begin, at);
            prop_assert!(before.ends_with(&line) && !line.contains(&b'\n'));
            prop_assert!(before.len() == line.len() || before[before.len() - line.len() - 1] == b'\n');
            let end = output.after_lines(at, count).expect("read");
            let rest: Vec<(u64, u8)> = bytes.into_iter().filter(|(offset, _)| *offset >= at).collect();
            let expected: Vec<u8> = lines_in(&rest).into_iter().take(count as usize).flat_map(|(_, text)| text).collect();
            prop_assert_eq!(text_from(&output, at, end), expected);
        }
    }

    /// What is missing may be of either stream.
    #[test]
    fn a_missing_range_is_missing_in_both(parts in parts(), start in 0u64..100, length in 1u64..20) {
        let size: usize = parts.iter().map(|(_, text)| text.len()).sum();
        let end = (start + length).min(size as u64);
        prop_assume!(start < end);
        for only in [Stream::Stdout, Stream::Stderr] {
            let gap = start..end;
            let output = read_of(only, &parts, vec![gap.clone()]);
            let mut kept = Vec::new();
            let mut missing = Vec::new();
            for piece in output.pieces(0..output.size) {
                match piece.expect("read") {
                    Piece::Bytes { at, bytes, .. } => kept.extend((at..).zip(bytes)),
                    Piece::Missing(range) => missing.push(range),
                }
            }
            let mut expected = bytes_of(only, &parts);
            expected.retain(|(at, _)| !(start..end).contains(at));
            prop_assert_eq!((kept, missing), (expected, vec![gap]));
            let begin = output.line_begin_of(only, output.size).expect("read");
            prop_assert!(begin >= end || text_from(&output, begin, size as u64).iter().all(|byte| *byte != b'\n'));
        }
    }
}
