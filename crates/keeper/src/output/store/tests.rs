use super::*;
use outlive_core::bound::MIN_OUTPUT;
use proptest::prelude::*;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// A store for an output with the smallest limit, in a directory of its own.
struct TestJob {
    _directory: tempfile::TempDir,
    job: JobDir,
    spec: Spec,
}

impl TestJob {
    fn new() -> TestJob {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let spec = serde_json::json!({
            "format": 1, "id": "x", "place": "local", "command": "x", "argv": ["x"], "cwd": "/",
            "grace_ms": 1, "notify": "end", "leftovers": "keep", "max_output": MIN_OUTPUT
        });
        TestJob {
            job: JobDir::at(directory.path().to_owned()),
            spec: serde_json::from_value(spec).expect("a spec"),
            _directory: directory,
        }
    }

    /// A store on a filesystem where holes cannot be punched.
    fn segmented(&self) -> Store {
        let bound = Bound::new(MIN_OUTPUT);
        Segments::make(&self.job, bound).expect("made");
        self.store()
    }

    fn store(&self) -> Store {
        Store::resume(&self.job, &self.spec).expect("resumed")
    }

    /// How many bytes are used on the disk.
    fn used(&self) -> u64 {
        let blocks = |path: PathBuf| std::fs::metadata(path).map_or(0, |it| it.blocks() * 512);
        let entries = std::fs::read_dir(self.job.segments());
        let segments = entries.into_iter().flatten().flatten();
        blocks(self.job.output()) + segments.map(|entry| blocks(entry.path())).sum::<u64>()
    }
}

fn byte(at: u64) -> u8 {
    ((at * 7919) >> 6) as u8 | 1
}

/// Writes `count` bytes as they are spliced, and frees the middle as a keeper does.
fn write(store: &mut Store, count: u64) {
    let mut left = count;
    while left > 0 {
        let most = left.min(store.room()).min(store.stride());
        let from = store.size();
        let bytes: Vec<u8> = (from..from + most).map(byte).collect();
        let mut target = store.target().expect("a file");
        io::Write::write_all(&mut target, &bytes).expect("written");
        store.has_grown(most);
        store.give_back();
        left -= most;
    }
}

/// Checks that every byte is right that is neither dropped nor in `gaps`. Bytes in gaps are zeros.
fn assert_exact(store: &Store, gaps: &[Range<u64>]) {
    let size = store.size();
    assert_eq!(store.files().size().expect("read"), size);
    let dropped = Bound::new(MIN_OUTPUT).dropped(size);
    let mut buffer = vec![0; 10_000];
    let mut at = 0;
    while at < size {
        let count = store.files().read_at(&mut buffer, at).expect("read");
        assert!(count > 0, "the end at {at} of {size}");
        for (place, found) in (at..).zip(&buffer[..count]) {
            let missing = dropped.contains(&place) || gaps.iter().any(|gap| gap.contains(&place));
            assert_eq!(*found, if missing { 0 } else { byte(place) }, "at {place}");
        }
        at += count as u64;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// For writes of any size, and whoever takes over in between.
    #[test]
    fn kept_output_is_exact_and_within_the_limit(
        parts in prop::collection::vec(1u64..90_000, 1..10),
        in_segments in any::<bool>(),
    ) {
        let test_job = TestJob::new();
        let mut store = if in_segments { test_job.segmented() } else { test_job.store() };
        for part in parts {
            write(&mut store, part);
            prop_assert!(test_job.used() <= MIN_OUTPUT + MIN_OUTPUT / 16 + 4096, "{} are used", test_job.used());
            assert_exact(&store, &[]);
            drop(store);
            store = test_job.store();
            prop_assert_eq!(store.first_hole(Bound::new(MIN_OUTPUT).dropped(store.size()).end).expect("looked"), None);
        }
        prop_assert_eq!(store.files().segments().is_some(), in_segments);
        prop_assert_eq!(test_job.job.segments().exists(), in_segments);
    }

    /// Bytes that could not be stored are a hole, which a successor finds.
    #[test]
    fn a_gap_moves_no_other_byte(before in 0u64..80_000, gap in 8192u64..50_000, after in 8192u64..20_000) {
        let test_job = TestJob::new();
        let mut store = test_job.segmented();
        write(&mut store, before);
        let mut left = gap;
        while left > 0 {
            let most = left.min(store.room());
            store.target().expect("a file");
            store.skip(most).expect("skipped");
            store.give_back();
            left -= most;
        }
        write(&mut store, after);
        let gap = before..before + gap;
        assert_exact(&store, std::slice::from_ref(&gap));
        let mut heir = test_job.store();
        assert_exact(&heir, std::slice::from_ref(&gap));
        let dropped = Bound::new(MIN_OUTPUT).dropped(heir.size()).end;
        let hole = heir.first_hole(dropped).expect("looked").expect("found");
        // Holes in files consist of whole pages.
        let expected = gap.start.max(dropped)..gap.end;
        prop_assert!(hole.start >= expected.start && hole.start < expected.start + 4096, "{:?} for {:?}", hole, expected);
        prop_assert!(hole.end <= expected.end && hole.end + 4096 > expected.end, "{:?} for {:?}", hole, expected);
    }
}

/// If no segment can be created, the length of the last one says how long the output is.
#[test]
fn a_segment_that_cannot_be_created_loses_only_its_own_bytes() {
    let test_job = TestJob::new();
    let bound = Bound::new(MIN_OUTPUT);
    let mut store = test_job.segmented();
    write(&mut store, bound.head() + bound.stride());
    let from = store.size();
    // A dangling link prevents anybody from creating the segment, root included.
    let blocked = test_job.job.segments().join(format!("{from:020}"));
    std::os::unix::fs::symlink("/nowhere/at/all", &blocked).expect("made");
    assert!(store.target().is_err());
    store.skip(1000).expect("skipped");
    assert_eq!(store.files().size().expect("read"), from + 1000);
    std::fs::remove_file(&blocked).expect("removed");
    let mut heir = test_job.store();
    assert_eq!(heir.size(), from + 1000);
    write(&mut heir, MIN_OUTPUT / 2);
    assert_exact(&heir, std::slice::from_ref(&(from..from + 1000)));
}

#[test]
fn the_form_is_decided_at_the_end_of_the_head() {
    let test_job = TestJob::new();
    let bound = Bound::new(MIN_OUTPUT);
    let mut store = test_job.store();
    write(&mut store, bound.head());
    assert!(matches!(store.form, Form::Undecided));
    assert!(matches!(test_job.store().form, Form::Undecided));
    write(&mut store, 1);
    assert!(matches!(store.form, Form::Whole));
    assert!(matches!(test_job.store().form, Form::Whole));
    // An output that lies in segments stays in segments, even on a filesystem with holes.
    let test_job = TestJob::new();
    let mut store = test_job.segmented();
    write(&mut store, bound.head() + 1);
    assert!(matches!(test_job.store().form, Form::Segmented(None)));
    let first = File::open(
        test_job
            .job
            .segments()
            .join(format!("{:020}", bound.head())),
    );
    let mut bytes = [0; 2];
    assert_eq!(
        first.expect("there").read_at(&mut bytes, 0).expect("read"),
        1
    );
}
