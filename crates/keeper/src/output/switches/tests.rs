use super::*;
use Stream::{Stderr, Stdout};
use outlive_core::streams::Runs;

/// A directory in which switches are written.
fn job() -> (tempfile::TempDir, JobDir) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let job = JobDir::at(directory.path().to_owned());
    (directory, job)
}

fn stream_at(job: &JobDir, offset: u64) -> Option<Stream> {
    let runs = Runs::open(job).expect("it opens").expect("it is there");
    runs.at(offset).expect("a run").stream
}

fn length(job: &JobDir) -> u64 {
    fs::metadata(job.streams()).expect("it is there").len()
}

#[test]
fn the_first_byte_has_a_switch_and_a_successor_needs_none_for_the_same_stream() {
    let (_directory, job) = job();
    let mut first = Switches::resume(&job);
    assert_eq!(first.stream(), None);
    first.add(0, Stdout).expect("added");
    first.add(5, Stderr).expect("added");
    let before = length(&job);
    let mut second = Switches::resume(&job);
    assert_eq!(second.stream(), Some(Stderr));
    second.add(5, Stderr).expect("nothing to do");
    assert_eq!(length(&job), before);
    // The predecessor has taken no byte of stderr.
    second.add(5, Stdout).expect("added");
    assert_eq!(
        (stream_at(&job, 4), stream_at(&job, 5)),
        (Some(Stdout), Some(Stdout))
    );
}

#[test]
fn the_file_stays_short_while_the_middle_is_dropped() {
    const KEPT: u64 = 20_000;
    let (_directory, job) = job();
    let mut switches = Switches::resume(&job);
    let mut most = 0;
    for number in 0..60_000u64 {
        let offset = number * 10;
        let stream = if number.is_multiple_of(2) {
            Stdout
        } else {
            Stderr
        };
        switches.add(offset, stream).expect("added");
        if number.is_multiple_of(100) && offset > 2 * KEPT {
            switches.give_back(&(KEPT..offset - KEPT), Role::Keeper);
        }
        most = most.max(length(&job));
    }
    assert!(most < SMALL + 200, "{most}");
    for offset in [0, 15, KEPT - 1, 599_999, 599_989, 600_000 - KEPT] {
        let expected = if (offset / 10_u64).is_multiple_of(2) {
            Stdout
        } else {
            Stderr
        };
        assert_eq!(stream_at(&job, offset), Some(expected), "at {offset}");
    }
    assert!(!job.next_streams().exists());
    assert_eq!(Switches::resume(&job).stream(), switches.stream());
}

#[test]
fn a_file_that_cannot_be_opened_refuses_switches_until_it_can() {
    let (_directory, job) = job();
    let gone = JobDir::at(job.path().join("gone"));
    let mut switches = Switches::resume(&gone);
    assert!(switches.add(0, Stderr).is_err());
    assert_eq!(switches.stream(), None, "the byte must not be stored");
    fs::create_dir(gone.path()).expect("made");
    switches.add(7, Stderr).expect("added");
    assert_eq!(stream_at(&gone, 7), Some(Stderr));
}

#[test]
fn a_part_of_a_shorter_file_is_removed() {
    let (_directory, job) = job();
    Switches::resume(&job).add(3, Stderr).expect("added");
    fs::write(job.next_streams(), b"half").expect("written");
    let switches = Switches::resume(&job);
    assert!(!job.next_streams().exists());
    assert_eq!(switches.stream(), Some(Stderr));
}
