//! `--max-output`: the output takes limited disk space, and what is kept is exact.

mod all_the_while;
mod cut;
mod ground;
mod keeping;
mod reading;
mod segments;

use outlive_testkit::records::names_in;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};

const MIB: u64 = 1024 * 1024;

/// A script that writes numbered lines of 16 bytes.
fn lines(count: u64) -> String {
    format!("seq -f %015.0f 0 {}", count - 1)
}

fn line(number: u64) -> String {
    format!("{number:015}\n")
}

fn expected(range: Range<u64>) -> Vec<u8> {
    range.flat_map(|number| line(number).into_bytes()).collect()
}

fn bounded(world: &World, max: &str, script: &str) -> String {
    world.ok(&["run", "--max-output", max, "--shell", script])
}

fn is_segmented(world: &World, id: &str) -> bool {
    world.job_dir(id).join("output.d").is_dir()
}

/// The disk space of the output, as `du` counts it.
fn on_disk(world: &World, id: &str) -> u64 {
    let job = world.job_dir(id);
    let blocks = |path| fs::metadata(path).map_or(0, |metadata| metadata.blocks() * 512);
    let segments = fs::read_dir(job.join("output.d")).into_iter().flatten();
    let segments = segments.flatten().map(|entry| blocks(entry.path()));
    blocks(job.join("output")) + segments.sum::<u64>()
}

/// The largest disk space that an output may take: its bound, one step, and some for the filesystem itself.
fn most(max: u64) -> u64 {
    max + max / 16 + 64 * 1024
}

/// A range of the output, read from the job's files.
fn stored(world: &World, id: &str, range: Range<u64>) -> Vec<u8> {
    let job = world.job_dir(id);
    let mut files = vec![(0, job.join("output"))];
    if is_segmented(world, id) {
        let directory = job.join("output.d");
        let names = names_in(&directory).into_iter();
        files.extend(names.map(|name| (name.parse().unwrap(), directory.join(name))));
    }
    let mut bytes = vec![0; (range.end - range.start) as usize];
    for (start, path) in files {
        let file = File::open(path).unwrap();
        let end = start + file.metadata().unwrap().len();
        let (from, to) = (range.start.max(start), range.end.min(end));
        if from < to {
            let part = (from - range.start) as usize..(to - range.start) as usize;
            file.read_exact_at(&mut bytes[part], from - start).unwrap();
        }
    }
    bytes
}

/// Checks that exactly the right range was dropped and that every other byte is in its place.
fn assert_kept(world: &World, id: &str, max: u64, count: u64) {
    let job = world.show(id);
    let size = count * 16;
    assert_eq!(job["output"]["bytes"], size);
    let log: Value = world.json(&["log", id, "--lines", "1", "--json"]);
    let ranges = log["dropped_ranges"].as_array().unwrap();
    assert_eq!(ranges.len(), 1, "{log}");
    let [from, to] = [0, 1].map(|place| ranges[0][place].as_u64().unwrap());
    assert_eq!(from, max / 4);
    assert!(
        size - to >= max - max / 4 && size - to < max - max / 4 + max / 16,
        "{from}..{to}"
    );
    assert_eq!(job["output"]["dropped_bytes"], to - from);
    assert_eq!(log["total_lines"], count);
    let head = stored(world, id, 0..from);
    assert!(head == expected(0..from / 16), "the head is exact");
    let tail = stored(world, id, to..size);
    assert!(tail == expected(to / 16..count), "the tail is exact");
    let read = world.outlive(&["log", id, "--raw", "--bytes", &to.to_string()]);
    assert!(read.stdout.as_bytes() == tail, "the tail is read");
}
