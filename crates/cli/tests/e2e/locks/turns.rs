//! Jobs with the same lock run one after the other, and each of them runs.

use super::{Book, assert_ran_after, holder, locked, waiter};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, every};
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::{WAITS, let_go, numbers, ok};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::collections::BTreeSet;
use std::thread;

#[test]
fn two_jobs_of_one_lock_never_run_at_once() {
    const JOBS: usize = 20;
    let world = World::new();
    let book = Book::new(&world);
    let script = format!(
        "{}sleep 0.01; {}",
        book.note("begin $OUTLIVE_JOB"),
        book.note("end $OUTLIVE_JOB")
    );
    let ids: Vec<String> = thread::scope(|scope| {
        let start = || locked(&world, &script);
        let started: Vec<_> = (0..JOBS).map(|_| scope.spawn(start)).collect();
        started.into_iter().map(|job| job.join().unwrap()).collect()
    });
    for id in &ids {
        assert_eq!(world.wait(id)["exit_code"], 0);
    }
    let lines = book.lines();
    assert_eq!(lines.len(), 2 * JOBS);
    let mut ran = BTreeSet::new();
    for pair in lines.chunks(2) {
        let id = pair[0].strip_prefix("begin ").unwrap();
        assert_eq!(pair[1], format!("end {id}"), "{lines:#?}");
        ran.insert(id.to_owned());
    }
    assert_eq!(ran, ids.into_iter().collect());
    world.until_nothing_runs();
}

/// The next job starts by itself, however the first one ends.
#[test]
fn the_next_one_starts_when_the_first_has_ended() {
    const ENDS: [&str; 5] = ["itself", "stop", "timeout", "killed", "lingering"];
    let name = |how: &&str| (*how).to_owned();
    every(&ENDS, name, |how| {
        let world = World::new();
        let script = match *how {
            "lingering" => format!("sleep 60 & {WAITS}"),
            _ => WAITS.to_owned(),
        };
        let limit = if *how == "timeout" { "1s" } else { "1h" };
        let args = ["run", "--lock", "x", "--timeout", limit, "--shell", &script];
        let first = ok(&world, &args);
        let second = locked(&world, "echo ran");
        match *how {
            "stop" => drop(world.ok(&["stop", &first])),
            "killed" => kill_for_good(world.leader(&first)),
            "timeout" => {}
            _ => let_go(&world),
        }
        assert_ran_after(&world, &second, &first);
        if *how == "lingering" {
            assert_eq!(world.show(&first)["lingering"], 1);
            world.ok(&["stop", &first]);
        }
        assert_nothing_is_left(&world, &second);
        assert_eq!(world.output(&second), b"ran\n");
    });
}

#[test]
fn jobs_with_another_lock_or_none_do_not_wait() {
    let world = World::new();
    let first = holder(&world);
    let waits = waiter(&world, &first, &[], "true");
    let other = world.ok(&["run", "--lock", "y", "--", "true"]);
    let plain = world.ok(&["run", "--", "true"]);
    for id in [&other, &plain] {
        assert_eq!(world.wait(id)["exit_code"], 0);
    }
    super::assert_waits(&world, &waits, &first);
    let_go(&world);
    assert_ran_after(&world, &waits, &first);
}

/// No process of a waiting job has its feed open. That must not count as the end of the output.
#[test]
fn the_output_of_a_job_that_waited_is_kept_as_it_comes() {
    let world = World::new();
    let first = holder(&world);
    let gate = outlive_testkit::gate::Gate::new(&world);
    let script = format!("seq 1 50000; {}", gate.then("echo over"));
    let second = waiter(&world, &first, &[], &script);
    let_go(&world);
    let most = numbers(50_000);
    until("what it wrote is there while it runs", || {
        world.output(&second).len() == most.len()
    });
    assert_eq!(world.show(&second)["state"], "running");
    gate.open();
    assert_ran_after(&world, &second, &first);
    let whole = [most, b"over\n".to_vec()].concat();
    assert_same_bytes("output", &world.output(&second), &whole);
}

#[test]
fn a_job_without_a_lock_has_no_extra_process_or_file() {
    let world = World::new();
    let id = outlive_testkit::scripts::sleeper(&world, &[]);
    world.ok(&["signal", &id, "CONT"]);
    assert_eq!(world.processes().len(), 3);
    assert!(!world.home().join("locks").exists());
    let files = outlive_testkit::records::names_in(&world.job_dir(&id));
    let expected = ["control", "feed", "journal", "lock", "output", "spec.json"];
    assert_eq!(files, expected);
    for pid in [world.pair(&id).keeper, world.pair(&id).standby.unwrap()] {
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let open: Vec<String> = fds
            .map(|fd| std::fs::read_link(fd.unwrap().path()).unwrap())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        let is_extra = |path: &String| path.contains("memfd") || path.contains("/locks/");
        assert!(!open.iter().any(is_extra), "{open:?}");
        assert!(open.len() <= 20, "{open:#?}");
    }
}
