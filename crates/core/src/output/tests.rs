use super::*;
use crate::bound::MIN_OUTPUT;
use proptest::prelude::*;

/// A job directory with this output in segments. The bytes below `gone` have been dropped.
fn segmented(bytes: &[u8], bound: Bound, gone: u64) -> (tempfile::TempDir, OutputFiles) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let job = JobDir::at(directory.path().to_owned());
    let head = bytes.len().min(bound.head() as usize);
    fs::write(job.output(), &bytes[..head]).expect("written");
    let segments = Segments::make(&job, bound).expect("made");
    for (place, part) in bytes[head..].chunks(bound.stride() as usize).enumerate() {
        let start = bound.head() + place as u64 * bound.stride();
        if start >= gone {
            let file = segments.open(start).expect("opened");
            file.write_all_at(part, 0).expect("written");
        }
    }
    let files = OutputFiles::open(&job, Some(bound)).expect("opened");
    (directory, files.expect("is there"))
}

fn all(files: &OutputFiles, mut at: u64, chunk: usize) -> Vec<u8> {
    let mut seen = Vec::new();
    let mut buffer = vec![1; chunk];
    loop {
        match files.read_at(&mut buffer, at).expect("read") {
            0 => return seen,
            count => {
                seen.extend(&buffer[..count]);
                at += count as u64;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Reads from any offset return what one file with a hole would return.
    #[test]
    fn segments_read_like_one_file(size in 0usize..400_000, from in 0u64..400_000, chunk in 1000usize..100_000) {
        let bound = Bound::new(MIN_OUTPUT);
        let mut bytes: Vec<u8> = (0..size).map(|n| ((n * 7919) >> 5) as u8 | 1).collect();
        let dropped = bound.dropped(size as u64);
        let (_directory, files) = segmented(&bytes, bound, dropped.end);
        prop_assert_eq!(files.size().expect("read"), size as u64);
        bytes[dropped.start as usize..dropped.end as usize].fill(0);
        let from = from.min(size as u64);
        prop_assert!(all(&files, from, chunk) == bytes[from as usize..]);
    }
}

/// A segment that could not be created is a hole. The file before it tells how long the output is.
#[test]
fn a_missing_segment_reads_as_zeros() {
    let bound = Bound::new(MIN_OUTPUT);
    let [head, stride] = [bound.head(), bound.stride()].map(|size| size as usize);
    let size = head + 3 * stride + 5;
    let (_directory, files) = segmented(&vec![7; head + stride], bound, 0);
    let segments = files.segments().expect("segmented");
    let first = segments.open(bound.head()).expect("opened");
    first.set_len((size - head) as u64).expect("extended");
    let mut expected = vec![7; head + stride];
    expected.resize(size, 0);
    assert!(all(&files, 0, 10_000) == expected);
    // Output continues after the hole.
    let last = segments.open((head + 3 * stride) as u64).expect("opened");
    last.write_all_at(b"more", 5).expect("written");
    expected.extend(b"more");
    assert!(all(&files, 0, 10_000) == expected);
    assert_eq!(files.size().expect("read"), size as u64 + 4);
}

#[test]
fn an_output_without_segments_is_one_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let job = JobDir::at(directory.path().to_owned());
    let bound = Some(Bound::new(MIN_OUTPUT));
    assert_eq!(size_of(&job, bound), 0);
    assert!(OutputFiles::open(&job, bound).expect("read").is_none());
    fs::write(job.output(), vec![7; 200_000]).expect("written");
    assert_eq!(size_of(&job, bound), 200_000);
    let files = OutputFiles::open(&job, bound)
        .expect("read")
        .expect("there");
    assert!(all(&files, 0, 64_000) == vec![7; 200_000]);
}

#[test]
fn files_without_an_offset_name_are_ignored() {
    let (directory, files) = segmented(&vec![7; 50_000], Bound::new(MIN_OUTPUT), 0);
    fs::write(directory.path().join("output.d/.nfs0001"), "x").expect("written");
    assert_eq!(files.size().expect("read"), 50_000);
}
