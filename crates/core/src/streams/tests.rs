use super::*;
use Stream::{Stderr, Stdout};
use proptest::prelude::*;

/// Writes the switches as keepers do, a new one after each `lives` of them.
fn written(switches: &[Switch], lives: usize) -> File {
    let file = tempfile::tempfile().expect("a file");
    let mut encoder = Encoder::default();
    for (index, switch) in switches.iter().enumerate() {
        if index % lives == 0 {
            let resumed = Encoder::resume(&file).expect("resumes");
            assert_eq!(resumed, encoder);
            encoder = resumed;
        }
        if let Some(entry) = encoder.entry(*switch) {
            file.write_all_at(entry.bytes(), entry.at).expect("writes");
            encoder.wrote(&entry);
        }
    }
    file
}

fn expected(switches: &[Switch], offset: u64) -> Option<Stream> {
    let before = switches.iter().rfind(|switch| switch.offset <= offset);
    before.map(|switch| switch.stream)
}

fn runs(file: &File) -> Runs {
    Runs::of(file.try_clone().expect("a copy")).expect("runs")
}

fn stream_at(runs: &Runs, offset: u64) -> Option<Stream> {
    let run = runs.at(offset).expect("a run");
    assert!(run.range.contains(&offset), "{run:?} has {offset}");
    run.stream
}

/// Switches in order, as keepers make them: also several at one offset, and for the stream that it is already.
fn switches(most: usize) -> impl Strategy<Value = Vec<Switch>> {
    let step = prop_oneof![4 => 0u64..200, 1 => 0u64..1 << 40];
    prop::collection::vec((step, prop::bool::ANY), 1..most).prop_map(|steps| {
        let mut offset = 0;
        let switch = |(step, is_error)| {
            offset += step;
            Switch {
                offset,
                stream: if is_error { Stderr } else { Stdout },
            }
        };
        steps.into_iter().map(switch).collect()
    })
}

#[test]
fn runs_are_found_over_many_blocks() {
    let switches: Vec<Switch> = (0..20_000u64)
        .map(|number| Switch {
            offset: 7 + number * 50,
            stream: if number.is_multiple_of(2) {
                Stdout
            } else {
                Stderr
            },
        })
        .collect();
    let file = written(&switches, usize::MAX);
    let length = file.metadata().expect("a length").len();
    assert!(length < 21_000, "a short run takes a byte, not {length}");
    let runs = runs(&file);
    assert_eq!(stream_at(&runs, 6), None, "nobody wrote it down");
    for number in [0u64, 1, 4087, 4088, 4089, 4090, 8179, 12_345, 19_999] {
        let run = runs.at(7 + number * 50 + 49).expect("a run");
        let end = if number == 19_999 {
            u64::MAX
        } else {
            7 + (number + 1) * 50
        };
        assert_eq!(run.range, 7 + number * 50..end);
        assert_eq!(run.stream, Some(switches[number as usize].stream));
    }
}

#[test]
fn the_streams_of_a_file_that_is_gone_or_empty_are_unknown() {
    let empty = tempfile::tempfile().expect("a file");
    let run = runs(&empty).at(5).expect("a run");
    assert_eq!((run.stream, run.range), (None, 0..u64::MAX));
}

proptest! {
    #[test]
    fn each_byte_has_the_stream_of_the_last_switch_before_it(
        switches in switches(200),
        lives in 1usize..9,
        torn in prop::collection::vec(0x80u8..=0xff, 0..7),
    ) {
        let file = written(&switches, lives);
        let length = Encoder::resume(&file).expect("resumes").length();
        // A writer was killed, or the disk was full, in the middle of an entry.
        file.write_all_at(&torn, length).expect("writes");
        prop_assert_eq!(Encoder::resume(&file).expect("resumes").length(), length);
        let runs = runs(&file);
        for switch in &switches {
            for offset in [switch.offset.saturating_sub(1), switch.offset, switch.offset + 1] {
                prop_assert_eq!(stream_at(&runs, offset), expected(&switches, offset));
            }
        }
    }

    #[test]
    fn a_rewritten_file_tells_the_same_of_what_it_keeps(
        switches in switches(3000),
        head in 0u64..2000,
        dropped in 0u64..100_000,
    ) {
        let file = written(&switches, usize::MAX);
        let before = runs(&file);
        let mut bytes = Vec::new();
        let keep = [0..head, head + dropped..u64::MAX];
        let end = before.rewrite(keep, &mut bytes).expect("rewrites");
        prop_assert_eq!(end.length(), bytes.len() as u64);
        prop_assert_eq!(end.stream(), Encoder::resume(&file).expect("resumes").stream());
        let shorter = tempfile::tempfile().expect("a file");
        shorter.write_all_at(&bytes, 0).expect("writes");
        prop_assert_eq!(Encoder::resume(&shorter).expect("resumes"), end);
        let after = runs(&shorter);
        for offset in switches.iter().map(|switch| switch.offset) {
            if offset < head || offset >= head + dropped {
                prop_assert_eq!(stream_at(&after, offset), stream_at(&before, offset));
            }
        }
    }

    #[test]
    fn any_bytes_are_readable(bytes: Vec<u8>, offsets: Vec<u32>) {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(&bytes, 0).expect("writes");
        let resumed = Encoder::resume(&file).expect("resumes");
        prop_assert!(resumed.length() <= bytes.len() as u64);
        let runs = runs(&file);
        for offset in offsets {
            stream_at(&runs, u64::from(offset));
        }
    }
}
