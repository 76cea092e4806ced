//! The copy of the output on the standard output of `run --foreground`.

use super::{SAVES, SLEEPS, TERM, ask_to_end, command, started};
use outlive_sys::tree;
use outlive_testkit::checks::assert_same_bytes;
use outlive_testkit::processes::{begin, kill_for_good, sleeps_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::numbers;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The last number. The numbers up to it are more than ten megabytes, and no two lines are the same.
const LAST: u32 = 1_400_000;

fn counts() -> String {
    format!("seq 1 {LAST}; exit 7")
}

/// The process that copies.
pub fn copier(front: i32) -> i32 {
    let is_copier = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"copy")
    };
    let mut found = None;
    until("somebody copies", || {
        found = tree::children(front).unwrap().into_iter().find(is_copier);
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn ten_megabytes_are_copied_exactly() {
    let world = World::new();
    let ran = Ran::of(&mut command(&world, &[], &counts()));
    assert_eq!(ran.code, 7);
    assert_eq!(ran.stderr, "outlive: job starts in the foreground\n");
    assert_same_bytes("the copy", ran.stdout.as_bytes(), &numbers(LAST));
}

#[test]
fn the_copy_appends_to_a_file() {
    let world = World::new();
    let path = world.path("slurm.out");
    fs::write(&path, "before\n").unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    let status = command(&world, &[], "echo out").stdout(file).status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert_eq!(fs::read(&path).unwrap(), b"before\nout\n");
}

#[test]
fn a_reader_that_does_not_read_blocks_only_the_copy() {
    let world = World::new();
    let child = begin(command(&world, &[], &counts()));
    until("the job is there", || {
        world.job_dir("job").join("journal").exists()
    });
    assert_eq!(world.wait("job")["exit_code"], 7, "while nobody reads");
    assert_same_bytes("the output", &world.output("job"), &numbers(LAST));
    let read = child.wait_with_output().unwrap();
    assert_eq!(read.status.code(), Some(7));
    assert_same_bytes("the copy", &read.stdout, &numbers(LAST));
}

#[test]
fn a_stop_does_not_wait_for_a_reader_that_does_not_read() {
    let world = World::new();
    let mut child = begin(command(&world, &[], &counts()));
    until("the job is there", || {
        world.job_dir("job").join("journal").exists()
    });
    world.wait("job");
    world.until_over("job");
    let asked = Instant::now();
    ask_to_end(&child, TERM);
    until("it has ended", || child.try_wait().unwrap().is_some());
    assert!(
        asked.elapsed() < Duration::from_secs(9),
        "{:?}",
        asked.elapsed()
    );
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 7);
    assert_ended_early(&ran, "the reader was too slow");
    world.until_nothing_runs();
}

#[test]
fn the_job_goes_on_when_the_reader_is_gone() {
    let world = World::new();
    let mut child = begin(command(&world, &[], &counts()));
    let mut first = [0; 2];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 7);
    assert_ended_early(&ran, "Broken pipe");
    assert_same_bytes("the output", &world.output("job"), &numbers(LAST));
}

#[test]
fn the_job_goes_on_when_the_disk_of_the_copy_is_full() {
    let world = World::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran = Ran::end_of(begin_to(full, command(&world, &[], &counts())));
    assert_eq!(ran.code, 7);
    assert_ended_early(&ran, "No space left on device");
    assert_same_bytes("the output", &world.output("job"), &numbers(LAST));
}

/// Kills every process that copies.
#[test]
fn a_copy_that_is_given_up_is_reported() {
    const STARTS: usize = 16;
    let world = World::new();
    let child = started(&world, &[], SAVES);
    let front = child.id() as i32;
    let mut killed = Vec::new();
    for _ in 0..STARTS {
        until("there is another", || !killed.contains(&copier(front)));
        let next = copier(front);
        kill_for_good(next);
        killed.push(next);
    }
    ask_to_end(&child, TERM);
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 9, "{ran:?}");
    assert_ended_early(
        &ran,
        "the process that copies failed or was killed too often",
    );
}

fn begin_to(out: File, mut command: Command) -> Child {
    command.stdout(out).stderr(Stdio::piped()).spawn().unwrap()
}

#[track_caller]
fn assert_ended_early(ran: &Ran, why: &str) {
    let said = format!(
        "outlive: the copy of the output ended early ({why}); `outlive log job` has all of it\n"
    );
    assert!(ran.stderr.ends_with(&said), "{:?}", ran.stderr);
}

/// After a kill, output that was written but not yet noted is written again. None is left out.
#[test]
fn a_copier_that_is_killed_is_replaced() {
    const MOST_TWICE: usize = 64 * 1024;
    let world = World::new();
    let child = begin(command(&world, &[], &counts()));
    let first = copier(child.id() as i32);
    until("it waits for the reader", || {
        sleeps_in(first).contains("pipe")
    });
    kill_for_good(first);
    assert_ne!(copier(child.id() as i32), first);
    let read = child.wait_with_output().unwrap();
    assert_eq!(read.status.code(), Some(7));
    let (copy, whole) = (read.stdout, numbers(LAST));
    let twice = copy.len() - whole.len();
    assert!(twice <= MOST_TWICE, "{twice}");
    let same = copy.iter().zip(&whole).take_while(|(a, b)| a == b).count();
    assert_same_bytes("what came after it", &copy[same..], &whole[same - twice..]);
}

#[test]
fn the_copy_says_what_was_not_kept() {
    let world = World::new();
    let child = begin(command(&world, &["--max-output", "1M"], &counts()));
    until("the job is there", || {
        world.job_dir("job").join("journal").exists()
    });
    world.wait("job");
    let read = child.wait_with_output().unwrap();
    let text = String::from_utf8(read.stdout).unwrap();
    assert!(text.starts_with("1\n2\n"), "the beginning");
    assert!(
        text.ends_with(&format!("{}\n{LAST}\n", LAST - 1)),
        "the end"
    );
    assert_eq!(text.matches("of output were not kept here").count(), 1);
    assert!(!text.contains('\0'), "what was dropped is not copied");
}

#[test]
fn output_is_copied_without_delay() {
    let world = World::new();
    let mut child = started(&world, &[], SLEEPS);
    let mut line = [0; 3];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut line)
        .unwrap();
    assert_eq!(&line, b"up\n");
    ask_to_end(&child, TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn foreground_works_without_a_standard_output() {
    let world = World::new();
    let inner = command(&world, &[], "echo out; exit 3");
    let mut outer =
        outlive_testkit::environment::behind("sh", ["-c", "exec \"$@\" >&- 2>&-", "sh"], &inner);
    outer.stdout(Stdio::null());
    assert_eq!(outer.status().unwrap().code(), Some(3));
    assert_eq!(world.output("job"), b"out\n");
}
