//! Outputs of any size: bounded on disk, exact where they are kept.

use crate::world::{Ran, World, kill};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1024 * 1024;

/// Writes numbered lines of sixteen bytes.
fn lines(count: u64) -> String {
    format!("seq -f %015.0f 0 {}", count - 1)
}

fn line(number: u64) -> String {
    format!("{number:015}\n")
}

fn expected(range: std::ops::Range<u64>) -> Vec<u8> {
    range.flat_map(|number| line(number).into_bytes()).collect()
}

fn bounded(world: &World, max: &str, script: &str) -> String {
    world.ok(&["run", "--max-output", max, "--shell", script])
}

fn on_disk(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

/// Every byte outside the dropped range is where it was written, and the range is as it should be.
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

    let output = File::open(world.job_dir(id).join("output")).unwrap();
    let mut head = vec![0; from as usize];
    output.read_exact_at(&mut head, 0).unwrap();
    assert!(head == expected(0..from / 16), "the head is exact");
    let mut tail = vec![0; (size - to) as usize];
    output.read_exact_at(&mut tail, to).unwrap();
    assert!(tail == expected(to / 16..count), "the tail is exact");
}

#[test]
fn a_chatty_job_stays_within_its_bound_and_keeps_its_head_and_tail() {
    let world = World::new();
    let id = bounded(&world, "1M", &format!("{}; exit 5", lines(1_000_000)));
    assert_eq!(world.wait(&id)["exit_code"], 5);
    assert_kept(&world, &id, MIB, 1_000_000);
    let used = on_disk(&world.job_dir(&id).join("output"));
    assert!(used <= MIB + MIB / 16 + 64 * 1024, "{used} bytes on disk");
}

/// While it writes as fast as it can, whenever one looks.
#[test]
fn the_bound_holds_all_the_while() {
    let world = World::new();
    let id = bounded(
        &world,
        "4M",
        "yes abcdefghijklmnopqrstuvwxyz | head -c 600000000",
    );
    let output = world.job_dir(&id).join("output");
    let mut looks = 0;
    while world.show(&id)["state"] != "ended" {
        // A turn of the keeper may be in flight besides the bound and a step.
        let used = on_disk(&output);
        assert!(
            used <= 4 * MIB + 4 * MIB / 16 + 4 * MIB + 128 * 1024,
            "{used} bytes on disk"
        );
        looks += 1;
    }
    assert!(looks > 2, "it was over too soon to tell");
    assert_eq!(world.wait(&id)["output"]["bytes"], 600_000_000);
    assert!(on_disk(&output) <= 4 * MIB + 4 * MIB / 16 + 128 * 1024);
}

#[test]
fn the_default_bound_is_64_mib_and_0_keeps_everything() {
    let world = World::new();
    let script = "head -c 80000000 /dev/zero";
    let some = world.shell(script);
    let all = bounded(&world, "0", script);
    let dropped = world.wait(&some)["output"]["dropped_bytes"]
        .as_u64()
        .unwrap();
    assert!(
        dropped > 80_000_000 - 69 * MIB && dropped <= 80_000_000 - 64 * MIB,
        "{dropped}"
    );
    assert_eq!(world.wait(&all)["output"]["dropped_bytes"], 0);
}

#[test]
fn keepers_killed_over_a_large_output_keep_the_bound_and_the_bytes() {
    let world = World::new();
    let count = 2_000_000;
    let id = bounded(&world, "1M", &format!("{}; exit 5", lines(count)));
    kill(world.pair(&id).keeper, 9);
    assert_eq!(world.wait(&id)["exit_code"], 5);
    assert_kept(&world, &id, MIB, count);
    assert_eq!(world.events(&id, "kept").len(), 2);
}

/// A filesystem of this kind as the world's home, until this is dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(world: &World) -> Mounted {
        let home = world.home();
        fs::create_dir(&home).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"])
            .arg(&home)
            .status();
        assert!(mounted.unwrap().success());
        Mounted(home)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn the_bound_holds_in_memory_too() {
    let world = World::new();
    let mounted = Mounted::tmpfs(&world);
    let id = bounded(&world, "2M", &lines(1_000_000));
    world.wait(&id);
    assert_kept(&world, &id, 2 * MIB, 1_000_000);
    drop(mounted);
}

/// Where holes cannot be punched the output is written anew; at most twice its bound is on the disk.
#[test]
fn without_holes_the_promise_is_kept_another_way() {
    let world = World::new();
    let outlive = world.command([
        "run",
        "--id",
        "x",
        "--max-output",
        "1M",
        "--shell",
        &lines(1_000_000),
    ]);
    let mut traced = Command::new("strace");
    traced.args([
        "-f",
        "-q",
        "-o",
        "/dev/null",
        "-e",
        "trace=fallocate",
        "-e",
        "inject=fallocate:error=EOPNOTSUPP",
    ]);
    traced.arg(outlive.get_program()).args(outlive.get_args());
    for (key, value) in outlive.get_envs() {
        match value {
            Some(value) => traced.env(key, value),
            None => traced.env_remove(key),
        };
    }
    assert_eq!(Ran::of(&mut traced).code, 0);
    world.wait("x");
    assert_kept(&world, "x", MIB, 1_000_000);
    let used = on_disk(&world.job_dir("x").join("output"));
    assert!(used <= 2 * MIB + 128 * 1024, "{used} bytes on disk");
    assert!(!world.job_dir("x").join("output.new").exists());
}

#[test]
fn lines_keep_their_numbers_when_the_middle_is_gone() {
    let world = World::new();
    let id = bounded(&world, "1M", &lines(1_000_000));
    world.wait(&id);
    let page = |from: u64| {
        world.json(&[
            "log",
            &id,
            "--offset",
            &from.to_string(),
            "--lines",
            "2",
            "--json",
        ])
    };
    for from in [1, 17, 16_000, 999_998, 999_999] {
        let log = page(from);
        assert_eq!(
            log["text"],
            format!("{}{}", line(from - 1), line(from)),
            "{log}"
        );
        assert_eq!(
            (&log["from_line"], &log["to_line"]),
            (&json!(from), &json!(from + 1))
        );
    }
    // A line that is gone: the first that is there.
    let log = page(500_000);
    let first = log["from_line"].as_u64().unwrap();
    assert_eq!(log["from_byte"], log["dropped_ranges"][0][1]);
    assert_eq!(log["text"], format!("{}{}", line(first - 1), line(first)));
    assert_eq!(page(2_000_000)["text"], "");
}

#[test]
fn what_is_missing_is_said_where_it_would_stand() {
    let world = World::new();
    let id = bounded(&world, "64K", &lines(20_000));
    world.wait(&id);
    let whole = world.outlive(&["log", &id, "--bytes", "0"]);
    let [before, after] = whole.stdout.split("\n[… ").collect::<Vec<_>>()[..] else {
        panic!("one mark: {} bytes", whole.stdout.len());
    };
    assert_eq!(before.as_bytes(), &expected(0..1024)[..]);
    assert!(
        after.contains(" of output were not kept here …]\n"),
        "{}",
        &after[..80]
    );
    assert!(after.ends_with(&line(19_999)));
    assert!(whole.stderr.contains("were not kept"), "{}", whole.stderr);
    let raw = world.outlive(&["log", &id, "--bytes", "0", "--raw"]);
    assert_eq!(
        raw.stdout.len() as u64,
        20_000 * 16 - world.show(&id)["output"]["dropped_bytes"].as_u64().unwrap()
    );
}

/// Reading by cursor while it writes: nothing twice, nothing missed, and what was dropped is told.
#[test]
fn a_cursor_goes_on_where_it_was() {
    let world = World::new();
    let go = world.path("go");
    let step = format!(
        "while [ ! -e {0} ]; do sleep 0.01; done; rm {0}",
        go.display()
    );
    let id = world.shell(&format!(
        "echo one; {step}; printf 'tw\\303'; {step}; printf '\\266\\n'; {step}; echo three"
    ));
    let mut cursor = "b0".to_owned();
    let mut seen = String::new();
    for (part, next) in [
        ("one\n", true),
        ("tw", true),
        ("ö\n", true),
        ("three\n", false),
    ] {
        let mut now = String::new();
        crate::world::until("the next part is there", || {
            let log = world.json(&["log", &id, "--cursor", &cursor, "--json"]);
            cursor = log["next_cursor"].as_str().unwrap().to_owned();
            now.push_str(log["text"].as_str().unwrap());
            now == part
        });
        seen.push_str(&now);
        if next {
            File::create(&go).unwrap();
        }
    }
    assert_eq!(seen, "one\ntwö\nthree\n");
    world.wait(&id);
    assert_eq!(
        world.json(&["log", &id, "--cursor", &cursor, "--json"])["text"],
        ""
    );
    assert_eq!(world.outlive(&["log", &id, "--cursor", "nonsense"]).code, 2);
}

#[test]
fn lines_are_found_by_what_they_say_and_by_when_they_came() {
    let world = World::new();
    let id = world.shell("seq 1 5000; sleep 2.1; echo late");
    world.wait(&id);
    assert_eq!(
        world.ok(&["log", &id, "--grep", "^4(00|99)0$"]),
        "4000\n4990"
    );
    assert_eq!(
        world.ok(&["log", &id, "--grep", "7$", "--lines", "2"]),
        "4987\n4997"
    );
    assert_eq!(world.ok(&["log", &id, "--since", "1500ms"]), "late");
    let stamped = world.ok(&["log", &id, "--timestamps", "--lines", "2"]);
    let moments: Vec<&str> = stamped
        .lines()
        .map(|line| line.split_once(' ').unwrap().0)
        .collect();
    assert!(
        moments[0] < moments[1] && moments[0].ends_with('Z'),
        "{stamped}"
    );
    assert_eq!(world.outlive(&["log", &id, "--grep", "("]).code, 2);
}

/// Finding a page of a large output reads little of it.
#[test]
fn a_page_costs_what_it_returns() {
    let world = World::new();
    let id = bounded(&world, "0", &lines(4_000_000));
    world.wait(&id);
    let trace = world.path("trace");
    let args = ["log", &id, "--offset", "2000000", "--lines", "3", "--json"];
    let outlive = world.command(args);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-e", "trace=pread64", "-o"])
        .arg(&trace)
        .arg(outlive.get_program())
        .args(args);
    strace.env("OUTLIVE_HOME", world.home());
    let ran = Ran::of(&mut strace);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        log["text"],
        format!("{}{}{}", line(1_999_999), line(2_000_000), line(2_000_001))
    );
    assert_eq!(log["total_lines"], 4_000_000);
    let trace = fs::read_to_string(trace).unwrap();
    let read: u64 = trace
        .lines()
        .filter_map(|call| call.rsplit_once("= ")?.1.trim().parse::<u64>().ok())
        .sum();
    assert!(
        read > 0 && read < 8 * MIB,
        "{read} of {} bytes were read",
        4_000_000 * 16
    );
}
