//! Full disks: output is dropped and counted, ends stay exact, launches are refused.

use super::disk::{Disk, on_each_kind};
use super::{
    LINE, assert_clear_error, assert_ended_exactly, assert_settled, assert_whole_or_refused,
    expected, leaders, lines,
};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs::File;
use std::ops::Range;

fn gaps(world: &World, id: &str) -> Vec<Range<usize>> {
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    world
        .events(id, "gap")
        .iter()
        .map(|gap| number(&gap["from"])..number(&gap["to"]))
        .collect()
}

/// Checks that every byte is in its place or in a gap that is recorded and counted.
fn assert_exact_but_for_gaps(world: &World, id: &str, expected: &[u8]) {
    let job = world.show(id);
    let gaps = gaps(world, id);
    let dropped: usize = gaps.iter().map(|gap| gap.len()).sum();
    assert_eq!(job["output"]["bytes"], expected.len(), "{job}");
    assert_eq!(job["output"]["dropped_bytes"], dropped, "{job}");
    let shown = world.ok(&["show", id]);
    let is_said = shown.contains(" of it could not be stored, ");
    assert_eq!(is_said, dropped > 0, "{shown}");
    assert!(!shown.contains("--max-output"), "{shown}");
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
    needs!(Ext4Tools, Root);
    on_each_kind(|world, _, kind| {
        let count = 500_000;
        let id = world.shell(&format!("{}; exit 4", lines(0..count)));
        assert_eq!(world.wait(&id)["exit_code"], 4, "{kind:?}");
        assert_exact_but_for_gaps(world, &id, &expected(0..count));
        assert!(gaps(world, &id)[0].start > 1 << 20, "{kind:?}");
        assert_eq!(world.events(&id, "ended").len(), 1);
    });
}

/// A job that writes one part while the disk is full, and a second part when the test lets it.
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
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, kind| {
        let id = two_parts(world, disk);
        disk.free();
        File::create(world.path("go")).unwrap();
        assert_eq!(world.wait(&id)["exit_code"], 4, "{kind:?}");
        assert_exact_but_for_gaps(world, &id, &expected(0..60_000));
        let gaps = gaps(world, &id);
        assert_eq!(gaps.len(), 1, "{kind:?}");
        assert_eq!(gaps[0].end, 50_000 * LINE, "{kind:?}");
    });
}

#[test]
fn a_gap_is_recorded_though_the_keeper_that_made_it_was_killed() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, kind| {
        let id = two_parts(world, disk);
        kill_for_good(world.pair(&id).keeper);
        disk.free();
        File::create(world.path("go")).unwrap();
        assert_eq!(world.wait(&id)["exit_code"], 4, "{kind:?}");
        assert_exact_but_for_gaps(world, &id, &expected(0..60_000));
    });
}

/// Starts a job that ends with 6 when the test lets it, and fills the disk while the job runs.
fn job_on_a_full_disk(world: &World, disk: &Disk, options: &[&str]) -> String {
    let script = format!("{}; exit 6", loop_until(&world.path("go")));
    let args = [&["run"], options, &["--shell", &script]].concat();
    let id = world.ok(&args);
    disk.fill();
    id
}

fn assert_settled_once_there_is_room(world: &World, disk: &Disk, id: &str, code: i32) {
    disk.free();
    assert_settled(world, id, code);
    assert!(!world.live(id).exists());
    assert_eq!(world.ok(&["run", "--wait", "--", "echo", "again"]), "again");
}

#[test]
fn an_outcome_is_recorded_on_a_disk_that_is_full_at_the_end() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, _| {
        let id = job_on_a_full_disk(world, disk, &[]);
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(world, &id, 6, "itself");
        assert_settled_once_there_is_room(world, disk, &id, 6);
    });
}

#[test]
fn a_stop_works_on_a_full_disk() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, kind| {
        let id = job_on_a_full_disk(world, disk, &[]);
        let stopped = world.outlive(&["stop", &id]);
        assert_eq!(stopped.code, 0, "{kind:?} {stopped:?}");
        assert_ended_exactly(world, &id, 143, "stop");
        assert_settled_once_there_is_room(world, disk, &id, 143);
    });
}

#[test]
fn a_timeout_works_on_a_full_disk() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, _| {
        let id = job_on_a_full_disk(world, disk, &["--timeout", "500ms"]);
        assert_ended_exactly(world, &id, 143, "timeout");
        assert_settled_once_there_is_room(world, disk, &id, 143);
    });
}

#[test]
fn a_takeover_works_on_a_full_disk() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, _| {
        let id = job_on_a_full_disk(world, disk, &[]);
        kill_for_good(world.pair(&id).keeper);
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(world, &id, 6, "itself");
        assert_settled_once_there_is_room(world, disk, &id, 6);
    });
}

#[test]
fn an_adoption_works_on_a_full_disk() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, kind| {
        let id = job_on_a_full_disk(world, disk, &[]);
        world.kill_both(&id);
        assert_eq!(world.show(&id)["state"], "running", "{kind:?}");
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(world, &id, 6, "itself");
        assert_settled_once_there_is_room(world, disk, &id, 6);
    });
}

#[test]
fn a_job_that_lingered_on_a_full_disk_is_listed_afterwards() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, kind| {
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
        world.until_nothing_runs();
        assert_ended_exactly(world, &id, 6, "itself");
        assert_settled_once_there_is_room(world, disk, &id, 6);
    });
}

#[test]
fn a_launch_onto_a_full_disk_is_a_clear_error_and_harms_no_other() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, kind| {
        let other = job_on_a_full_disk(world, disk, &[]);
        let ran = world.outlive(&["run", "--id", "x", "--", "sleep", "60"]);
        assert_clear_error(&ran);
        assert_eq!(ran.code, 125, "{kind:?}");
        assert!(ran.stderr.contains("No space left"), "{ran:?}");
        until("only the other job runs", || {
            leaders(world) == [other.as_str()]
        });
        File::create(world.path("go")).unwrap();
        assert_ended_exactly(world, &other, 6, "itself");
        disk.free();
        let shown = world.outlive(&["show", "x", "--json"]);
        assert!(
            shown.code == 3 || shown.stdout.contains("not_started"),
            "{shown:?}"
        );
        assert_eq!(world.ok(&["run", "--wait", "--", "echo", "again"]), "again");
    });
}

#[test]
fn a_launch_with_a_few_pages_left_is_whole_or_refused() {
    needs!(Ext4Tools, Root);
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

/// If an event cannot be told now, the inbox must not say that there is none.
#[test]
fn an_inbox_on_a_full_disk_does_not_say_that_there_is_nothing() {
    needs!(Ext4Tools, Root);
    on_each_kind(|world, disk, _| {
        world.ok(&["run", "--id", "x", "--session", "s", "--", "true"]);
        world.until_over("x");
        disk.fill();
        let ran = world.outlive(&["inbox", "--session", "s", "--quiet"]);
        assert_eq!(ran.code, 125, "{ran:?}");
        assert!(
            ran.stderr.contains("x has news that cannot be told now"),
            "{ran:?}"
        );
        let peeked = world.outlive(&["inbox", "--session", "s", "--peek"]);
        assert!(peeked.stdout.contains("Job x"), "{peeked:?}");
    });
}
