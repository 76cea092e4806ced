//! Full disks, no descriptors, no processes, damaged files: a clear error or a repaired state.
//!
//! These tests mount small filesystems and become other users, so they run as root; where that is
//! not to be had they fail, and say so.

use crate::world::{Ran, World, is_alive, kill, until};
use outlive_sys::procfs;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

// Disks.

/// A small filesystem in place of the world's home.
struct Disk<'a> {
    world: &'a World,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Tmpfs,
    Ext4,
}

const KINDS: [Kind; 2] = [Kind::Tmpfs, Kind::Ext4];
const PAGE: u64 = 4096;

fn must(program: &str, args: &[&str]) {
    let ran = Ran::of(Command::new(program).args(args).stdin(Stdio::null()));
    assert_eq!(ran.code, 0, "{program} {args:?}: {ran:?}");
}

impl<'a> Disk<'a> {
    fn new(world: &'a World, kind: Kind) -> Disk<'a> {
        match kind {
            Kind::Tmpfs => Disk::tmpfs(world, "size=2m"),
            Kind::Ext4 => Disk::ext4(world),
        }
    }

    fn tmpfs(world: &'a World, options: &str) -> Disk<'a> {
        fs::create_dir(world.home()).unwrap();
        let options = format!("{options},mode=0700");
        let home = world.home();
        must(
            "mount",
            &[
                "-t",
                "tmpfs",
                "-o",
                &options,
                "none",
                home.to_str().unwrap(),
            ],
        );
        Disk { world }
    }

    fn ext4(world: &'a World) -> Disk<'a> {
        let image = world.path("image");
        File::create(&image).unwrap().set_len(4 << 20).unwrap();
        let (image, home) = (image.to_str().unwrap(), world.home());
        must("mkfs.ext4", &["-q", "-F", "-m", "0", image]);
        fs::create_dir(&home).unwrap();
        must("mount", &["-o", "loop", image, home.to_str().unwrap()]);
        Disk { world }
    }

    fn filler(&self) -> PathBuf {
        self.world.home().join("filler")
    }

    /// Takes every byte there is.
    fn fill(&self) {
        let mut filler = OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.filler())
            .unwrap();
        let zeros = vec![0; 64 * 1024];
        for size in [64 * 1024, 1024, 1] {
            while filler.write_all(&zeros[..size]).is_ok() {}
        }
        let full = filler.write_all(b"x").unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    }

    fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn free_pages(&self, count: u64) {
        let filler = OpenOptions::new().write(true).open(self.filler()).unwrap();
        let size = filler.metadata().unwrap().len();
        filler.set_len(size - count * PAGE).unwrap();
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        for pid in self.world.processes() {
            kill(pid, 9);
        }
        let home = self.world.home();
        let _ = Command::new("umount").arg("-l").arg(home).status();
    }
}

fn loop_until(path: &Path) -> String {
    format!("while [ ! -e {} ]; do sleep 0.01; done", path.display())
}

fn assert_calm(ran: &Ran) {
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
    assert!(
        ran.code != 101 && ran.code != 134 && ran.code != 139,
        "{ran:?}"
    );
}

/// A refusal in words.
fn assert_clear_error(ran: &Ran) {
    assert_calm(ran);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("outlive: "), "{ran:?}");
}

const LINE: usize = 16;

/// A shell command that writes numbered lines of sixteen bytes.
fn lines(range: Range<usize>) -> String {
    format!("seq -f %015.0f {} {}", range.start, range.end - 1)
}

fn expected(range: Range<usize>) -> Vec<u8> {
    range
        .flat_map(|n| format!("{n:015}\n").into_bytes())
        .collect()
}

fn gaps(world: &World, id: &str) -> Vec<Range<usize>> {
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    world
        .events(id, "gap")
        .iter()
        .map(|gap| number(&gap["from"])..number(&gap["to"]))
        .collect()
}

/// Every byte is where it belongs, or in a gap that is recorded and counted.
fn assert_exact_but_for_gaps(world: &World, id: &str, expected: &[u8]) {
    let job = world.show(id);
    let gaps = gaps(world, id);
    let dropped: usize = gaps.iter().map(|gap| gap.len()).sum();
    assert_eq!(job["output"]["bytes"], expected.len(), "{job}");
    assert_eq!(job["output"]["dropped_bytes"], dropped, "{job}");
    assert!(dropped > 0, "{job}");
    let output = world.output(id);
    assert_eq!(output.len(), expected.len());
    let mut at = 0;
    for gap in gaps {
        assert!(gap.start >= at && gap.end <= expected.len());
        assert!(
            output[at..gap.start] == expected[at..gap.start],
            "before {gap:?}"
        );
        at = gap.end;
    }
    assert!(output[at..] == expected[at..], "after the last gap");
}

#[test]
fn a_job_that_writes_more_than_the_disk_holds_goes_on_and_ends_with_its_code() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let count = 500_000;
        let id = world.shell(&format!("{}; exit 4", lines(0..count)));
        assert_eq!(world.wait(&id)["exit_code"], 4, "{kind:?}");
        assert_exact_but_for_gaps(&world, &id, &expected(0..count));
        assert!(gaps(&world, &id)[0].start > 1 << 20, "{kind:?}");
        assert_eq!(world.events(&id, "ended").len(), 1);
        drop(disk);
    }
}

/// A job that writes a first part onto a full disk and a second one when it is let.
fn two_parts(world: &World, disk: &Disk) -> String {
    let id = world.shell(&format!(
        "{}; {}; {}; {}; exit 4",
        loop_until(&world.path("full")),
        lines(0..50_000),
        loop_until(&world.path("go")),
        lines(50_000..60_000),
    ));
    disk.fill();
    File::create(world.path("full")).unwrap();
    until("the first part is dropped", || {
        world.output(&id).len() == 50_000 * LINE
    });
    id
}

#[test]
fn what_comes_after_a_full_disk_has_room_again_is_kept() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = two_parts(&world, &disk);
        disk.free();
        File::create(world.path("go")).unwrap();
        assert_eq!(world.wait(&id)["exit_code"], 4, "{kind:?}");
        assert_exact_but_for_gaps(&world, &id, &expected(0..60_000));
        let gaps = gaps(&world, &id);
        assert_eq!(gaps.len(), 1, "{kind:?}");
        assert_eq!(gaps[0].end, 50_000 * LINE, "{kind:?}");
    }
}

#[test]
fn a_gap_is_recorded_though_the_keeper_that_made_it_was_killed() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = two_parts(&world, &disk);
        let pair = world.pair(&id);
        kill(pair.keeper, 9);
        until("it is gone", || !is_alive(pair.keeper));
        disk.free();
        File::create(world.path("go")).unwrap();
        assert_eq!(world.wait(&id)["exit_code"], 4, "{kind:?}");
        assert_exact_but_for_gaps(&world, &id, &expected(0..60_000));
    }
}

/// Starts a job that ends with 6 when it is let, and fills the disk while it runs.
fn job_on_a_full_disk(world: &World, disk: &Disk, options: &[&str]) -> String {
    let script = format!("{}; exit 6", loop_until(&world.path("go")));
    let args = [&["run"], options, &["--shell", &script]].concat();
    let id = world.ok(&args);
    disk.fill();
    id
}

fn assert_ended_exactly(world: &World, id: &str, code: i32, by: &str) {
    let waited = world.outlive(&["wait", id, "--timeout", "20s"]);
    assert_eq!(waited.code, code, "{waited:?}");
    let job = world.show(id);
    assert_eq!(job["state"], "ended");
    assert_eq!(
        (&job["exit_code"], &job["ended_by"]),
        (&json!(code), &json!(by))
    );
    assert_eq!(world.events(id, "ended").len(), 1);
    let listed = world.json(&["list", "--json"]);
    assert_eq!(listed["jobs"][0]["id"], id);
    assert_eq!(listed["jobs"][0]["exit_code"], code);
}

fn assert_settled_once_there_is_room(world: &World, disk: &Disk, id: &str, code: i32) {
    disk.free();
    assert_eq!(world.show(id)["exit_code"], code);
    until("nothing is left running", || world.processes().is_empty());
    let listed = world.json(&["list", "--json"]);
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1);
    assert!(!world.home().join("live").join(id).exists());
    assert_eq!(world.ok(&["run", "--wait", "--", "echo", "again"]), "again");
}

#[test]
fn an_outcome_is_recorded_on_a_disk_that_is_full_at_the_end() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = job_on_a_full_disk(&world, &disk, &[]);
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(&world, &id, 6, "itself");
        assert_settled_once_there_is_room(&world, &disk, &id, 6);
    }
}

#[test]
fn a_stop_works_on_a_full_disk() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = job_on_a_full_disk(&world, &disk, &[]);
        let stopped = world.outlive(&["stop", &id]);
        assert_eq!(stopped.code, 0, "{kind:?} {stopped:?}");
        assert_ended_exactly(&world, &id, 143, "stop");
        assert_settled_once_there_is_room(&world, &disk, &id, 143);
    }
}

#[test]
fn a_timeout_works_on_a_full_disk() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = job_on_a_full_disk(&world, &disk, &["--timeout", "500ms"]);
        assert_ended_exactly(&world, &id, 143, "timeout");
        assert_settled_once_there_is_room(&world, &disk, &id, 143);
    }
}

#[test]
fn a_takeover_works_on_a_full_disk() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = job_on_a_full_disk(&world, &disk, &[]);
        let pair = world.pair(&id);
        kill(pair.keeper, 9);
        until("it is gone", || !is_alive(pair.keeper));
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(&world, &id, 6, "itself");
        assert_settled_once_there_is_room(&world, &disk, &id, 6);
    }
}

#[test]
fn an_adoption_works_on_a_full_disk() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let id = job_on_a_full_disk(&world, &disk, &[]);
        let pair = world.pair(&id);
        for pid in [pair.standby.unwrap(), pair.keeper] {
            kill(pid, 9);
            until("it is gone", || !is_alive(pid));
        }
        assert_eq!(world.show(&id)["state"], "running", "{kind:?}");
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(&world, &id, 6, "itself");
        assert_settled_once_there_is_room(&world, &disk, &id, 6);
    }
}

/// Takes every file there can be.
fn use_up_inodes(world: &World) -> Vec<PathBuf> {
    let mut made = Vec::new();
    loop {
        let path = world.home().join(format!("inode-{}", made.len()));
        if File::create(&path).is_err() {
            return made;
        }
        made.push(path);
    }
}

#[test]
fn an_outcome_is_recorded_where_no_file_can_be_made_any_more() {
    let world = World::new();
    let _disk = Disk::tmpfs(&world, "size=2m,nr_inodes=64");
    let script = format!("echo out; {}; exit 6", loop_until(&world.path("go")));
    let id = world.shell(&script);
    until("it writes", || world.output(&id) == b"out\n");
    let made = use_up_inodes(&world);
    assert!(!made.is_empty());
    assert_clear_error(&world.outlive(&["run", "--", "true"]));
    File::create(world.path("go")).unwrap();
    assert_ended_exactly(&world, &id, 6, "itself");
    assert_eq!(world.output(&id), b"out\n");
    for path in made {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(world.show(&id)["exit_code"], 6);
    until("nothing is left running", || world.processes().is_empty());
    let listed = world.json(&["list", "--json"]);
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_job_started_just_before_the_last_file_was_used_up_still_ends_exactly() {
    let world = World::new();
    let _disk = Disk::tmpfs(&world, "size=2m,nr_inodes=64");
    let script = format!("{}; exit 6", loop_until(&world.path("go")));
    let mut launcher = world
        .command(["run", "--id", "x", "--shell", &script])
        .env("OUTLIVE_HOOKS", "keeper:Started=stop")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("it has started", || {
        world.job_dir("x").join("journal").exists() && world.events("x", "started").len() == 1
    });
    let keeper = world.pair("x").keeper;
    until("the keeper has stopped", || {
        procfs::stat(keeper).is_some_and(|stat| stat.state == b'T')
    });
    use_up_inodes(&world);
    // It carries the hook, which would stop every keeper that it might start in its turn.
    launcher.kill().unwrap();
    launcher.wait().unwrap();
    kill(keeper, 18);
    File::create(world.path("go")).unwrap();
    assert_ended_exactly(&world, "x", 6, "itself");
}

#[test]
fn a_job_that_lingered_on_a_full_disk_is_listed_afterwards() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let (go, over) = (world.path("go"), world.path("over"));
        let id = world.shell(&format!(
            "({}) & {}; exit 6",
            loop_until(&over),
            loop_until(&go)
        ));
        disk.fill();
        File::create(go).unwrap();
        assert_eq!(world.outlive(&["wait", &id]).code, 6, "{kind:?}");
        File::create(over).unwrap();
        until("nothing is left running", || world.processes().is_empty());
        assert_ended_exactly(&world, &id, 6, "itself");
        assert_settled_once_there_is_room(&world, &disk, &id, 6);
    }
}

#[test]
fn a_launch_onto_a_full_disk_is_a_clear_error_and_harms_no_other() {
    for kind in KINDS {
        let world = World::new();
        let disk = Disk::new(&world, kind);
        let other = job_on_a_full_disk(&world, &disk, &[]);
        let ran = world.outlive(&["run", "--id", "x", "--", "sleep", "60"]);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{kind:?}");
        assert!(ran.stderr.contains("No space left"), "{ran:?}");
        until("only the other job runs", || {
            leaders(&world) == [other.as_str()]
        });
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(&world, &other, 6, "itself");
        disk.free();
        let shown = world.outlive(&["show", "x", "--json"]);
        assert!(
            shown.code == 3 || shown.stdout.contains("not_started"),
            "{shown:?}"
        );
        assert_eq!(world.ok(&["run", "--wait", "--", "echo", "again"]), "again");
    }
}

/// What was launched in need has run exactly, or was refused clearly and left nothing.
fn assert_whole_or_refused(ran: &Ran, id: &str, outlive: impl Fn(&[&str]) -> Ran, what: &str) {
    assert_calm(ran);
    if ran.code == 0 {
        assert_eq!(ran.stdout, format!("{id}\n"), "{what}");
        let waited = outlive(&["wait", id, "--timeout", "20s"]);
        assert_eq!(waited.code, 5, "{what}: {waited:?}");
        return;
    }
    assert_clear_error(ran);
    let shown = outlive(&["show", id, "--json"]);
    assert_calm(&shown);
    if shown.code != 3 {
        let job: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(job["outcome"]["kind"], "not_started", "{what}: {job}");
        assert_eq!(job["exit_code"], ran.code, "{what}");
    }
}

#[test]
fn a_launch_with_a_few_pages_left_is_whole_or_refused() {
    for pages in 0..=10 {
        let world = World::new();
        let disk = Disk::tmpfs(&world, "size=1m");
        world.ok(&["list"]);
        world.wait(&world.ok(&["run", "--", "true"]));
        disk.fill();
        disk.free_pages(pages);
        let what = format!("{pages} pages");
        let ran = world.outlive(&["run", "--id", "x", "--shell", "exit 5"]);
        if ran.code == 0 {
            assert_whole_or_refused(&ran, "x", |args| world.outlive(args), &what);
        }
        disk.free();
        assert_whole_or_refused(&ran, "x", |args| world.outlive(args), &what);
        until(&format!("nothing is left running, {what}"), || {
            world.processes().is_empty()
        });
    }
}

#[test]
fn a_limit_on_file_sizes_costs_output_and_no_outcome() {
    let world = World::new();
    let script = format!("ulimit -S -f unlimited; {}; exit 4", lines(0..10_000));
    let ran = Ran::of(&mut limited(
        &world,
        "ulimit -S -f 16",
        &["run", "--id", "x", "--shell", &script],
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = world.wait("x");
    assert_eq!(job["exit_code"], 4);
    assert_eq!(job["output"]["bytes"], 10_000 * LINE);
}

#[test]
fn a_home_on_another_filesystem_works_in_full() {
    for kind in KINDS {
        let world = World::new();
        let _disk = Disk::new(&world, kind);
        let count = 10_000;
        let id = world.shell(&format!("{}; exit 3", lines(0..count)));
        assert_eq!(world.wait(&id)["exit_code"], 3);
        assert!(world.output(&id) == expected(0..count), "{kind:?}");
        assert_eq!(world.show(&id)["output"]["dropped_bytes"], 0);
        let raw = world.outlive(&["log", &id, "--bytes", "16:32"]);
        assert_eq!(raw.stdout, "000000000000001\n");

        let id = world.ok(&["run", "--", "sleep", "60"]);
        let pair = world.pair(&id);
        for pid in [pair.standby.unwrap(), pair.keeper] {
            kill(pid, 9);
            until("it is gone", || !is_alive(pid));
        }
        world.ok(&["stop", &id]);
        assert_ended_exactly(&world, &id, 143, "stop");
        let listed = world.json(&["list", "--json"]);
        assert_eq!(listed["jobs"].as_array().unwrap().len(), 2);
        world.ok(&["prune", "--all"]);
        assert_eq!(fs::read_dir(world.home().join("jobs")).unwrap().count(), 0);
    }
}

// Descriptors.

/// `outlive` behind a shell's `ulimit`.
fn limited(world: &World, limit: &str, args: &[&str]) -> Command {
    let inner = world.command(args);
    let mut command = Command::new("bash");
    command
        .args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")])
        .arg(inner.get_program())
        .args(inner.get_args())
        .stdin(Stdio::null());
    for (key, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command
}

#[test]
fn a_launch_with_few_descriptors_is_whole_or_refused() {
    let world = World::new();
    let other = world.ok(&["run", "--", "sleep", "60"]);
    let mut worked = 0;
    // With three, the system's own loader cannot load the program.
    for count in 4..=24 {
        let id = format!("n{count}");
        let limit = format!("ulimit -n {count}");
        let args = ["run", "--id", &id, "--shell", "exit 5"];
        let ran = Ran::of(&mut limited(&world, &limit, &args));
        assert_whole_or_refused(&ran, &id, |args| world.outlive(args), &limit);
        worked += usize::from(ran.code == 0);
        until(&format!("only the other job is left, {limit}"), || {
            world.processes().len() == 3
        });
    }
    assert!(worked > 0 && worked < 21, "{worked} worked");
    assert_eq!(world.show(&other)["state"], "running");
    assert_eq!(world.events(&other, "kept").len(), 1);
}

#[test]
fn a_low_limit_on_descriptors_is_the_jobs_own_and_not_the_keepers() {
    let world = World::new();
    let ran = Ran::of(&mut limited(
        &world,
        "ulimit -S -n 16",
        &["run", "--wait", "--shell", "ulimit -S -n; ulimit -H -n"],
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    let hard = Ran::of(Command::new("bash").args(["-c", "ulimit -H -n"])).stdout;
    assert_eq!(ran.stdout, format!("16\n{hard}"));
}

#[test]
fn every_verb_with_few_descriptors_works_or_says_why_not() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    for count in 4..=10 {
        for args in [
            &["list"][..],
            &["show", &id],
            &["log", &id],
            &["wait", &id, "--timeout", "1ms"],
            &["signal", &id, "CONT"],
            &["prune"],
        ] {
            let ran = Ran::of(&mut limited(&world, &format!("ulimit -n {count}"), args));
            assert_calm(&ran);
            let fine = matches!(ran.code, 0 | 124);
            assert!(
                fine || ran.stderr.starts_with("outlive: "),
                "{count} {args:?}: {ran:?}"
            );
        }
    }
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn more_waiters_than_a_keeper_has_descriptors_all_hear_of_the_end() {
    let world = World::new();
    let script = format!("{}; exit 5", loop_until(&world.path("go")));
    let args = ["run", "--id", "x", "--shell", &script];
    let ran = Ran::of(&mut limited(&world, "ulimit -n 24", &args));
    assert_eq!(ran.code, 0, "{ran:?}");
    let keeper = world.pair("x").keeper;
    let waiters: Vec<_> = (0..40)
        .map(|_| {
            world
                .command(["wait", "x", "--timeout", "20s"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    until("the keeper has used what it may", || {
        let open = fs::read_dir(format!("/proc/{keeper}/fd"));
        open.map_or(0, Iterator::count) >= 20 || !is_alive(keeper)
    });
    File::create(world.path("go")).unwrap();
    for mut waiter in waiters {
        assert_eq!(waiter.wait().unwrap().code(), Some(5));
    }
    assert_eq!(world.events("x", "ended").len(), 1);
    assert_eq!(
        world.events("x", "kept").len(),
        1,
        "it was not killed by it"
    );
    assert_ne!(world.show("x")["usage"], Value::Null);
}

// Processes, and other users.

/// A user who has nothing but this world.
struct User<'a> {
    world: &'a World,
    id: u32,
}

impl<'a> User<'a> {
    fn new(world: &'a World) -> User<'a> {
        // Limits on processes count all of a user's: each test has users of its own.
        let id = 100_000 + std::process::id() % 1_000_000;
        let public = fs::Permissions::from_mode(0o711);
        fs::set_permissions(world.path("."), public).unwrap();
        fs::create_dir(world.path("bin")).unwrap();
        for (name, path) in [
            ("outlive", env!("CARGO_BIN_EXE_outlive")),
            ("outlive-keeper", env!("CARGO_BIN_EXE_outlive-keeper")),
        ] {
            fs::copy(path, world.path("bin").join(name)).unwrap();
        }
        User { world, id }
    }

    /// One with a home.
    fn settled(world: &'a World) -> User<'a> {
        let user = User::new(world);
        fs::create_dir(world.home()).unwrap();
        user.owns(&world.home());
        user
    }

    fn owns(&self, path: &Path) {
        chown(path, Some(self.id), Some(self.id)).unwrap();
    }

    /// `outlive` as this user, behind these words (`prlimit …`).
    fn command(&self, before: &[&str], args: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        let user = [
            format!("--reuid={}", self.id),
            format!("--regid={}", self.id),
        ];
        command
            .args(user)
            .arg("--clear-groups")
            .args(before)
            .arg(self.world.path("bin/outlive"))
            .args(args)
            .current_dir("/")
            .stdin(Stdio::null());
        for (key, value) in self.world.command::<&str>([]).get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        command
    }

    fn outlive(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(&[], args))
    }

    /// How many processes count against this user's limit: zombies do.
    fn processes(&self) -> usize {
        let own = |pid: &i32| {
            fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == self.id)
                || fs::read_to_string(format!("/proc/{pid}/status"))
                    .is_ok_and(|status| status.contains(&format!("Uid:\t{}\t", self.id)))
        };
        let all = procfs::all().unwrap();
        all.iter().filter(|pid| own(pid)).count()
    }
}

#[test]
fn a_launch_with_few_processes_is_whole_or_refused() {
    let world = World::new();
    let user = User::settled(&world);
    let ran = user.outlive(&["run", "--id", "other", "--", "sleep", "60"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let others = world.processes();
    assert_eq!(others.len(), 3);
    let mut codes = Vec::new();
    for more in 1..=5 {
        let id = format!("n{more}");
        let limit = format!("--nproc={0}:{0}", user.processes() + more);
        let args = ["run", "--id", &id, "--", "sh", "-c", "exit 5"];
        let ran = Ran::of(&mut user.command(&["prlimit", &limit], &args));
        assert_whole_or_refused(&ran, &id, |args| user.outlive(args), &limit);
        codes.push(ran.code);
        until(&format!("only the other job is left, {limit}"), || {
            world.processes().len() == others.len()
        });
    }
    // Launcher, standby, keeper and leader make four; and a first process that is slow to let go
    // of zombies may do so meanwhile.
    assert_eq!((codes[0], codes[4]), (125, 0), "{codes:?}");
    assert_eq!(world.processes(), others);
    let shown = user.outlive(&["show", "other", "--json"]);
    assert!(shown.stdout.contains("\"state\":\"running\""), "{shown:?}");
}

#[test]
fn an_adoption_without_processes_left_is_an_error_and_harms_nothing() {
    let world = World::new();
    let user = User::settled(&world);
    let script = format!("{}; exit 5", loop_until(&world.path("go")));
    let ran = user.outlive(&["run", "--id", "x", "--shell", &script]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let pair = world.pair("x");
    for pid in [pair.standby.unwrap(), pair.keeper] {
        kill(pid, 9);
        until("it is gone", || !is_alive(pid));
    }
    let show = ["show", "x", "--json"];
    let ran = Ran::of(&mut user.command(&["prlimit", "--nproc=1:1"], &show));
    assert_clear_error(&ran);
    assert_eq!(ran.code, 125);
    let ran = user.outlive(&show);
    assert!(ran.stdout.contains("\"state\":\"running\""), "{ran:?}");
    File::create(world.path("go")).unwrap();
    assert_eq!(user.outlive(&["wait", "x"]).code, 5);
}

#[test]
fn an_unwritable_home_is_a_clear_error() {
    let world = World::new();
    let user = User::new(&world);
    // The directory it would be in is another's.
    let ran = user.outlive(&["run", "--", "true"]);
    assert_clear_error(&ran);
    assert_eq!(ran.code, 125);
    assert!(
        ran.stderr.contains(world.home().to_str().unwrap()),
        "{ran:?}"
    );
    assert!(!world.home().exists());

    fs::create_dir(world.home()).unwrap();
    user.owns(&world.home());
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o500)).unwrap();
    let ran = user.outlive(&["run", "--", "true"]);
    assert_clear_error(&ran);
    assert_eq!(ran.code, 125);
    assert!(ran.stderr.contains("ermission denied"), "{ran:?}");
    assert_eq!(user.outlive(&["list"]).code, 0);
    assert_eq!(user.outlive(&["show", "x"]).code, 3);
}

#[test]
fn a_home_whose_parts_became_unwritable_is_a_clear_error_and_the_jobs_in_it_live() {
    let world = World::new();
    let user = User::settled(&world);
    let script = format!("{}; exit 5", loop_until(&world.path("go")));
    assert_eq!(
        user.outlive(&["run", "--id", "x", "--shell", &script]).code,
        0
    );
    for part in ["jobs", "live"] {
        let path = world.home().join(part);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
        let ran = user.outlive(&["run", "--id", "y", "--", "sleep", "60"]);
        assert_clear_error(&ran);
        assert!(ran.stderr.contains(path.to_str().unwrap()), "{ran:?}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        until("only the first job runs", || leaders(&world) == ["x"]);
        let shown = user.outlive(&["show", "y", "--json"]);
        assert!(
            shown.code == 3 || shown.stdout.contains("not_started"),
            "{shown:?}"
        );
    }
    File::create(world.path("go")).unwrap();
    assert_eq!(user.outlive(&["wait", "x"]).code, 5);
}

/// The jobs of which processes run.
fn leaders(world: &World) -> Vec<String> {
    let mut ids: Vec<String> = world
        .processes()
        .into_iter()
        .filter_map(|pid| procfs::started_with(pid, "OUTLIVE_JOB"))
        .map(|id| String::from_utf8(id).unwrap())
        .collect();
    ids.sort();
    ids.dedup();
    ids
}

#[test]
fn a_home_that_is_no_directory_is_a_clear_error() {
    let world = World::new();
    fs::write(world.home(), "a file").unwrap();
    for args in [&["run", "--", "true"][..], &["list"]] {
        let ran = world.outlive(args);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{args:?}");
    }
    assert_eq!(fs::read(world.home()).unwrap(), b"a file");
}

#[test]
fn a_home_of_another_user_is_refused_by_every_verb() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let user = User::new(&world);
    fs::set_permissions(world.home(), fs::Permissions::from_mode(0o777)).unwrap();
    for args in [
        &["run", "--", "true"][..],
        &["list"],
        &["show", &id],
        &["log", &id],
        &["wait", &id],
        &["stop", &id],
        &["signal", &id, "KILL"],
        &["prune"],
        &["detach", "/dev/null", "--", "true"],
    ] {
        let ran = user.outlive(args);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{args:?}");
        assert!(ran.stderr.contains("another user"), "{ran:?}");
    }
    assert_eq!(world.show(&id)["state"], "running");
    // It was made its owner's alone again.
    let mode = fs::metadata(world.home()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

// Damage.

type Damage = (&'static str, fn(&Path));

fn cut(path: &Path, keep: impl Fn(&[u8]) -> usize) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..keep(&bytes)]).unwrap();
}

fn replace_with_directory(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

const GARBAGE: &[u8] =
    b"\x00\xff\xfe{\"v\":1,\n\n[]\nnull\n\"x\"\n{}\n\x1b[31m\n9999999999999999999999\n";

const DAMAGES: [Damage; 22] = [
    ("an empty journal", |job| {
        fs::write(job.join("journal"), "").unwrap()
    }),
    ("a journal torn in its first line", |job| {
        cut(&job.join("journal"), |_| 20)
    }),
    ("a journal torn in its last line", |job| {
        cut(&job.join("journal"), |all| all.len() - 9)
    }),
    ("half a journal", |job| {
        cut(&job.join("journal"), |all| all.len() / 2)
    }),
    ("a journal of garbage", |job| {
        fs::write(job.join("journal"), GARBAGE).unwrap()
    }),
    ("a journal with garbage in front", |job| {
        let old = fs::read(job.join("journal")).unwrap();
        fs::write(job.join("journal"), [GARBAGE, &old].concat()).unwrap();
    }),
    ("a journal of zeros", |job| {
        fs::write(job.join("journal"), vec![0; 1 << 20]).unwrap()
    }),
    ("a journal twice over", |job| {
        let old = fs::read(job.join("journal")).unwrap();
        fs::write(job.join("journal"), old.repeat(2)).unwrap();
    }),
    ("no journal", |job| {
        fs::remove_file(job.join("journal")).unwrap()
    }),
    ("a journal that is a directory", |job| {
        replace_with_directory(&job.join("journal"))
    }),
    ("an empty spec", |job| {
        fs::write(job.join("spec.json"), "").unwrap()
    }),
    ("half a spec", |job| {
        cut(&job.join("spec.json"), |all| all.len() / 2)
    }),
    ("a spec of garbage", |job| {
        fs::write(job.join("spec.json"), GARBAGE).unwrap()
    }),
    ("a spec that is a list", |job| {
        fs::write(job.join("spec.json"), "[]").unwrap()
    }),
    ("a spec nested without end", |job| {
        fs::write(job.join("spec.json"), "[".repeat(100_000)).unwrap();
    }),
    ("no spec", |job| {
        fs::remove_file(job.join("spec.json")).unwrap()
    }),
    ("a spec that is a directory", |job| {
        replace_with_directory(&job.join("spec.json"))
    }),
    ("no lock", |job| fs::remove_file(job.join("lock")).unwrap()),
    ("a lock that is a directory", |job| {
        replace_with_directory(&job.join("lock"))
    }),
    ("no output", |job| {
        fs::remove_file(job.join("output")).unwrap()
    }),
    ("an output that is a directory", |job| {
        replace_with_directory(&job.join("output"))
    }),
    ("no files at all", |job| {
        fs::remove_dir_all(job).unwrap();
        fs::create_dir(job).unwrap();
    }),
];

fn run_every_verb_on(world: &World, id: &str, what: &str) {
    let verbs: [&[&str]; 13] = [
        &["list"],
        &["show", id],
        &["show", id, "--json"],
        &["log", id],
        &["log", id, "--bytes", "0:10"],
        &["wait", id, "--timeout", "500ms"],
        &["signal", id, "CONT"],
        &["run", "--id", id, "--", "true"],
        &["stop", id, "--grace", "100ms"],
        &["wait", id, "--timeout", "500ms", "--json"],
        &["prune"],
        &["list", "--json"],
        &["doctor"],
    ];
    for args in verbs {
        let ran = world.outlive(args);
        assert_calm(&ran);
        // `wait` says on standard output how a job ended.
        let said = !ran.stderr.is_empty() || args[0] == "wait" && !ran.stdout.is_empty();
        assert!(ran.code == 0 || said, "{what}: {args:?}: {ran:?}");
        let whole = matches!(args[0], "list" | "prune" | "doctor");
        assert!(!whole || ran.code == 0, "{what}: {args:?}: {ran:?}");
    }
}

/// The other job is listed, and nothing has happened to it.
fn assert_unharmed(world: &World, other: &str, what: &str) {
    let listed = world.json(&["list", "--json"]);
    let jobs = listed["jobs"].as_array().unwrap();
    let found = jobs.iter().find(|job| job["id"] == other);
    assert_eq!(found.unwrap()["state"], "running", "{what}");
    assert_eq!(world.events(other, "kept").len(), 1, "{what}");
}

#[test]
fn damage_to_an_ended_job_is_never_a_panic_and_harms_no_other() {
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    for (number, (what, damage)) in DAMAGES.iter().enumerate() {
        let id = format!("d{number}");
        world.ok(&["run", "--id", &id, "--shell", "echo out; exit 3"]);
        world.wait(&id);
        until("it is over", || world.processes().len() == 3);
        damage(&world.job_dir(&id));
        run_every_verb_on(&world, &id, what);
        assert_unharmed(&world, "other", what);
        until(&format!("nothing of it runs, {what}"), || {
            world.processes().len() == 3
        });
    }
    assert_eq!(world.outlive(&["prune", "--all", "--force"]).code, 0);
    assert_unharmed(&world, "other", "after pruning");
}

#[test]
fn damage_to_a_running_job_is_never_a_panic_and_harms_no_other() {
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    thread::scope(|scope| {
        for (number, (what, damage)) in DAMAGES.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                let id = format!("d{number}");
                world.ok(&["run", "--id", &id, "--shell", "echo out; exec sleep 60"]);
                until("it writes", || world.output(&id) == b"out\n");
                damage(&world.job_dir(&id));
                run_every_verb_on(world, &id, what);
                assert_unharmed(world, "other", what);
            });
        }
    });
}

#[test]
fn damage_to_a_job_whose_keepers_are_dead_is_never_a_panic_and_harms_no_other() {
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    thread::scope(|scope| {
        for (number, (what, damage)) in DAMAGES.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                let id = format!("d{number}");
                world.ok(&["run", "--id", &id, "--shell", "echo out; exec sleep 60"]);
                until("it writes", || world.output(&id) == b"out\n");
                let pair = world.pair(&id);
                for pid in [pair.standby.unwrap(), pair.keeper] {
                    kill(pid, 9);
                    until("it is gone", || !is_alive(pid));
                }
                damage(&world.job_dir(&id));
                run_every_verb_on(world, &id, what);
                assert_unharmed(world, "other", what);
            });
        }
    });
}

/// A job that ended with 3, its journal then cut to `keep` of its bytes.
fn job_with_a_cut_journal(world: &World, keep: impl Fn(&str) -> usize) -> Ran {
    world.ok(&["run", "--id", "x", "--shell", "echo out; exit 3"]);
    world.wait("x");
    until("it is over", || world.processes().is_empty());
    let path = world.job_dir("x").join("journal");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..keep(&text)]).unwrap();
    world.outlive(&["wait", "x", "--json", "--timeout", "10s"])
}

#[test]
fn an_end_that_is_whole_in_a_torn_journal_stays_exact() {
    let world = World::new();
    let ran = job_with_a_cut_journal(&world, |text| text.len() - 9);
    assert_eq!(ran.code, 3, "{ran:?}");
    let job: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(job["outcome"], json!({ "kind": "exited", "code": 3 }));
    assert_eq!(world.events("x", "ended").len(), 1);
    assert_eq!(world.outlive(&["log", "x"]).stdout, "out\n");
}

#[test]
fn an_end_that_is_gone_from_a_journal_is_lost_and_never_a_success() {
    for keep in [
        (|text: &str| text.find("\"ended\"").unwrap() + 4) as fn(&str) -> usize,
        |text: &str| text.find("\"started\"").unwrap(),
        |_: &str| 5,
        |_: &str| 0,
    ] {
        let world = World::new();
        let ran = job_with_a_cut_journal(&world, keep);
        assert_eq!(ran.code, 125, "{ran:?}");
        let job: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(job["state"], "ended");
        assert_eq!(job["outcome"]["kind"], "lost");
        assert_eq!(job["exit_code"], Value::Null);
        assert_eq!(job["ended_by"], "unknown");
        assert_eq!(world.show("x")["outcome"], job["outcome"], "it stays so");
        assert_eq!(world.outlive(&["log", "x"]).stdout, "out\n");
        until("nothing is left running", || world.processes().is_empty());
    }
}

#[test]
fn a_journal_emptied_under_a_running_keeper_still_gets_the_exact_end() {
    let world = World::new();
    let script = format!("echo out; {}; exit 3", loop_until(&world.path("go")));
    let id = world.shell(&script);
    until("it writes", || world.output(&id) == b"out\n");
    fs::write(world.job_dir(&id).join("journal"), "").unwrap();
    File::create(world.path("go")).unwrap();
    let ran = world.outlive(&["wait", &id, "--timeout", "10s"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(world.outlive(&["log", &id]).stdout, "out\n");
}

#[test]
fn a_job_whose_spec_is_damaged_can_still_be_stopped() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    fs::write(world.job_dir(&id).join("spec.json"), "{").unwrap();
    let shown = world.outlive(&["show", &id]);
    assert_clear_error(&shown);
    assert_eq!(shown.code, 125);
    assert!(shown.stderr.contains("spec.json"), "{shown:?}");
    assert_calm(&world.outlive(&["stop", &id]));
    until("nothing is left running", || world.processes().is_empty());
    assert_eq!(world.events(&id, "ended").len(), 1);
    let listed = world.outlive(&["list"]);
    assert_eq!(listed.code, 0);
}

// Directories that were never finished.

#[test]
fn half_made_job_directories_are_harmless() {
    const FILES: [&str; 4] = ["lock", "spec.json", "feed", "journal"];
    let world = World::new();
    world.ok(&["run", "--id", "other", "--", "sleep", "60"]);
    let ended = world.ok(&["run", "--id", "ended", "--", "true"]);
    world.wait(&ended);
    for which in 0..1 << FILES.len() {
        for name in [format!("half{which}"), format!(".new-half{which}-1-abcd")] {
            let job = world.home().join("jobs").join(&name);
            fs::create_dir(&job).unwrap();
            for (place, file) in FILES.iter().enumerate() {
                if which & (1 << place) != 0 {
                    make_half(&world, &job, file);
                }
            }
        }
        let id = format!("half{which}");
        symlink(format!("../jobs/{id}"), world.home().join("live").join(&id)).unwrap();
    }
    fs::write(world.home().join("jobs/afile"), "").unwrap();
    symlink("../jobs/gone", world.home().join("live/gone")).unwrap();
    for which in 0..1 << FILES.len() {
        let id = format!("half{which}");
        run_every_verb_on(&world, &id, &id);
        let refused = world.outlive(&["run", "--id", &id, "--", "true"]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (125, ""),
            "{refused:?}"
        );
    }
    run_every_verb_on(&world, "afile", "a file");
    run_every_verb_on(&world, "gone", "a link to nothing");
    assert_unharmed(&world, "other", "half-made directories");
    assert_eq!(world.show("ended")["exit_code"], 0);
    assert_eq!(leaders(&world), ["other"]);
}

/// One file of a directory that its launcher did not finish.
fn make_half(world: &World, job: &Path, file: &str) {
    match file {
        "feed" => must("mkfifo", &[job.join("feed").to_str().unwrap()]),
        "journal" => {
            let text = fs::read_to_string(world.job_dir("ended").join("journal")).unwrap();
            let first = text.lines().next().unwrap();
            fs::write(job.join("journal"), format!("{first}\n")).unwrap();
        }
        "spec.json" => {
            let spec = fs::read_to_string(world.job_dir("ended").join(file)).unwrap();
            let id = job.file_name().unwrap().to_str().unwrap();
            let id = id.trim_start_matches(".new-").trim_end_matches("-1-abcd");
            let spec = spec.replace("\"ended\"", &format!("\"{id}\""));
            fs::write(job.join(file), spec).unwrap();
        }
        _ => {
            File::create(job.join(file)).unwrap();
        }
    }
}

#[test]
fn a_half_made_home_is_finished() {
    let world = World::new();
    fs::create_dir_all(world.home().join("jobs")).unwrap();
    assert_eq!(world.outlive(&["list"]).code, 0);
    assert_eq!(world.ok(&["run", "--wait", "--", "echo", "hello"]), "hello");
    for part in ["live", "sessions", "names"] {
        fs::remove_dir_all(world.home().join(part)).unwrap();
        let args = ["run", "--id", part, "--name", "n", "--session", "s"];
        let ran = Ran::of(world.command(args).args(["--", "sh", "-c", "exit 5"]));
        assert_whole_or_refused(&ran, part, |args| world.outlive(args), part);
        fs::create_dir_all(world.home().join(part)).unwrap();
    }
}

#[test]
fn damage_to_the_history_hides_no_job_that_ends_after_it() {
    for damage in [
        &b"17926"[..],
        b"1792600000000 hal",
        b"\xff\xfe\n",
        b"\xff",
        b"x\n\n\n",
    ] {
        let world = World::new();
        world.wait(&world.ok(&["run", "--id", "first", "--", "true"]));
        until("it is over", || world.processes().is_empty());
        let days = world.home().join("ended");
        for day in fs::read_dir(days).unwrap() {
            let mut day = OpenOptions::new()
                .append(true)
                .open(day.unwrap().path())
                .unwrap();
            day.write_all(damage).unwrap();
        }
        world.wait(&world.ok(&["run", "--id", "second", "--", "true"]));
        until("it is over", || world.processes().is_empty());
        let listed = world.json(&["list", "--json"]);
        let jobs = listed["jobs"].as_array().unwrap();
        let ids: Vec<&str> = jobs.iter().map(|job| job["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["second", "first"], "after {damage:?}");
    }
}
