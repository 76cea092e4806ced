use super::*;
use outlive_core::bound::LEAST;
use proptest::prelude::*;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

/// A store of an output of the least bound, in a directory of its own.
struct Room {
    _directory: tempfile::TempDir,
    job: JobDir,
    spec: Spec,
}

impl Room {
    fn new() -> Room {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let spec = serde_json::json!({
            "format": 1, "id": "x", "place": "local", "command": "x", "argv": ["x"], "cwd": "/",
            "grace_ms": 1, "notify": "end", "leftovers": "keep", "max_output": LEAST
        });
        Room {
            job: JobDir::at(directory.path().to_owned()),
            spec: serde_json::from_value(spec).expect("a spec"),
            _directory: directory,
        }
    }

    /// As if holes could not be punched here.
    fn segmented(&self) -> Store {
        let bound = Bound::new(LEAST);
        Segments::make(&self.job, bound).expect("made");
        self.store()
    }

    fn store(&self) -> Store {
        Store::resume(&self.job, &self.spec).expect("resumed")
    }

    /// What is on the disk, in bytes.
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

/// Writes so much, the way bytes are spliced, and gives back as a keeper does.
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

/// Every byte that is neither dropped nor in `gaps` is where it belongs; those are zeros.
fn assert_exact(store: &Store, gaps: &[Range<u64>]) {
    let size = store.size();
    assert_eq!(store.files().size().expect("read"), size);
    let dropped = Bound::new(LEAST).dropped(size);
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

    /// However it comes, and whoever takes over in between.
    #[test]
    fn what_is_kept_is_exact_and_within_the_bound(
        parts in prop::collection::vec(1u64..90_000, 1..10),
        in_segments in any::<bool>(),
    ) {
        let room = Room::new();
        let mut store = if in_segments { room.segmented() } else { room.store() };
        for part in parts {
            write(&mut store, part);
            prop_assert!(room.used() <= LEAST + LEAST / 16 + 4096, "{} are used", room.used());
            assert_exact(&store, &[]);
            drop(store);
            store = room.store();
            prop_assert_eq!(store.first_hole(Bound::new(LEAST).dropped(store.size()).end).expect("looked"), None);
        }
        prop_assert_eq!(store.files().segments().is_some(), in_segments);
        prop_assert_eq!(room.job.segments().exists(), in_segments);
    }

    /// A stretch that could not be kept is a hole, which an heir finds.
    #[test]
    fn a_gap_moves_nothing(before in 0u64..80_000, gap in 8192u64..50_000, after in 8192u64..20_000) {
        let room = Room::new();
        let mut store = room.segmented();
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
        let mut heir = room.store();
        assert_exact(&heir, std::slice::from_ref(&gap));
        let dropped = Bound::new(LEAST).dropped(heir.size()).end;
        let hole = heir.first_hole(dropped).expect("looked").expect("found");
        // Files have holes of whole pages.
        let expected = gap.start.max(dropped)..gap.end;
        prop_assert!(hole.start >= expected.start && hole.start < expected.start + 4096, "{:?} for {:?}", hole, expected);
        prop_assert!(hole.end <= expected.end && hole.end + 4096 > expected.end, "{:?} for {:?}", hole, expected);
    }
}

/// Where no segment can be made, the last one says how long the output is.
#[test]
fn segments_that_cannot_be_made_cost_their_bytes_and_nothing_else() {
    let room = Room::new();
    let bound = Bound::new(LEAST);
    let mut store = room.segmented();
    write(&mut store, bound.head() + bound.stride());
    let from = store.size();
    // A link that leads nowhere is in the way of everybody.
    let blocked = room.job.segments().join(format!("{from:020}"));
    std::os::unix::fs::symlink("/nowhere/at/all", &blocked).expect("made");
    assert!(store.target().is_err());
    store.skip(1000).expect("skipped");
    assert_eq!(store.files().size().expect("read"), from + 1000);
    std::fs::remove_file(&blocked).expect("removed");
    let mut heir = room.store();
    assert_eq!(heir.size(), from + 1000);
    write(&mut heir, LEAST / 2);
    assert_exact(&heir, std::slice::from_ref(&(from..from + 1000)));
}

#[test]
fn a_head_is_decided_on_at_its_end_and_by_all_alike() {
    let room = Room::new();
    let bound = Bound::new(LEAST);
    let mut store = room.store();
    write(&mut store, bound.head());
    assert!(matches!(store.form, Form::Undecided));
    assert!(matches!(room.store().form, Form::Undecided));
    write(&mut store, 1);
    assert!(matches!(store.form, Form::Whole));
    assert!(matches!(room.store().form, Form::Whole));
    // One that lies in segments stays so, wherever it is then.
    let room = Room::new();
    let mut store = room.segmented();
    write(&mut store, bound.head() + 1);
    assert!(matches!(room.store().form, Form::Segmented(None)));
    let first = File::open(room.job.segments().join(format!("{:020}", bound.head())));
    let mut bytes = [0; 2];
    assert_eq!(
        first.expect("there").read_at(&mut bytes, 0).expect("read"),
        1
    );
}
