//! The record of streams accepts arbitrary bytes. Each byte of the output has one answer, which lies in the run that is
//! found for it, and a shorter record tells the same of what it keeps.

use crate::read;
use outlive_core::streams::{BLOCK, Encoder, Runs, decode};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// More runs than this are not walked through.
const MAX_KEPT: u64 = 1 << 16;

pub fn check(bytes: &[u8]) {
    let Some((probes, head, dropped, bytes)) = read::<([u64; 3], u16, u16, &[u8])>(bytes) else {
        return;
    };
    let first = &bytes[..bytes.len().min(BLOCK)];
    let (switches, length) = decode(first);
    assert!(length <= first.len());
    assert_eq!(
        decode(&first[..length]),
        (switches, length),
        "the rest told something"
    );
    let file = file_of(bytes);
    let resumed = Encoder::resume(&file).expect("a file in order");
    assert!(resumed.length() <= bytes.len() as u64);
    let runs = Runs::of(file).expect("a file in order");
    for probe in probes.map(|probe| probe.min(u64::MAX - 1)) {
        let run = runs.at(probe).expect("a file in order");
        assert!(run.range.contains(&probe), "{run:?} has {probe}");
        if is_in_order(bytes) {
            let last = runs.at(run.range.end - 1).expect("a file in order");
            assert_eq!(last.stream, run.stream, "{run:?}");
        }
    }
    if !is_in_order(bytes) {
        return;
    }
    let keep = [
        0..u64::from(head),
        u64::from(head) + u64::from(dropped)..MAX_KEPT * 2,
    ];
    let mut shorter = Vec::new();
    runs.rewrite(keep.clone(), &mut shorter)
        .expect("a file in order");
    let rewritten = Runs::of(file_of(&shorter)).expect("a file in order");
    for range in keep.into_iter().filter(|range| !range.is_empty()) {
        for at in [range.start, range.start.midpoint(range.end), range.end - 1] {
            let before = runs.at(at).expect("a file in order").stream;
            let after = rewritten.at(at).expect("a file in order").stream;
            assert!(
                before.is_none() || after == before,
                "at {at}: {before:?}, {after:?}"
            );
        }
    }
}

/// Whether no block begins before the one in front of it ends, as in every file that a keeper writes.
fn is_in_order(bytes: &[u8]) -> bool {
    let blocks = bytes.chunks(BLOCK).map(|block| decode(block).0);
    let blocks = blocks.filter(|switches| !switches.is_empty());
    let blocks: Vec<_> = blocks.collect();
    blocks.is_sorted_by(|one, next| one[one.len() - 1].offset <= next[0].offset)
}

/// A file without a name that contains these bytes.
fn file_of(bytes: &[u8]) -> File {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("outlive-fuzz-{}-{number}", process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(&path);
    let file = file.expect("a temporary file");
    fs::remove_file(&path).expect("it is there");
    file.write_all_at(bytes, 0).expect("room for it");
    file
}
