//! Turns come in the order in which the jobs joined.

use super::{
    assert_queue_is_empty, assert_ran_after, assert_ran_once, assert_waits, queued, runner, waiter,
};
use crate::locks::Book;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{let_go, ok, with_go};
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn the_jobs_of_a_queue_run_one_by_one_in_order() {
    let world = World::new();
    let book = Book::new(&world);
    let first = runner(&world, "q");
    let note = |number: u32| book.note(&number.to_string());
    let rest: Vec<String> = (1..6)
        .map(|number| waiter(&world, number, &note(number)))
        .collect();
    let_go(&world);
    let mut before = &first;
    for id in &rest {
        assert_ran_after(&world, id, before);
        before = id;
    }
    assert_eq!(book.lines(), ["1", "2", "3", "4", "5"]);
    assert_queue_is_empty(&world);
}

#[test]
fn a_job_whose_turn_has_come_at_once_is_running_when_run_returns() {
    let world = World::new();
    let job = world.json(&["run", "--json", "--queue", "q:2", "--", "sleep", "60"]);
    assert_eq!(job["state"], "running", "{job}");
    assert!(job["pid"].is_number(), "{job}");
    let missing = world.outlive(&["run", "--queue", "q", "--", "no-such-program"]);
    assert_eq!(missing.code, 127, "{missing:?}");
    world.ok(&["stop", job["id"].as_str().unwrap()]);
    assert_queue_is_empty(&world);
}

#[test]
fn a_waiting_job_says_where_it_waits() {
    let world = World::new();
    let first = runner(&world, "q");
    let second = waiter(&world, 1, "true");
    let third = waiter(&world, 2, "true");
    let shown = world.ok(&["show", &third]);
    assert!(
        shown.contains("waiting in the queue q, position 2; 1 at once"),
        "{shown}"
    );
    let listed = world.ok(&["list"]);
    assert!(listed.contains("waiting, position 1 in q"), "{listed}");
    let list = world.json(&["list", "--json"]);
    let place = |id: &str| {
        let mut jobs = list["jobs"].as_array().unwrap().iter();
        jobs.find(|job| job["id"] == *id).unwrap()["waiting_for"].clone()
    };
    assert_eq!(
        place(&third),
        json!({"queue": "q", "position": 2, "width": 1})
    );
    assert_eq!(
        place(&second),
        json!({"queue": "q", "position": 1, "width": 1})
    );
    assert_eq!(place(&first), json!(null));
    let_go(&world);
    assert_ran_after(&world, &third, &second);
}

#[test]
fn the_end_of_a_job_passes_the_turn_on_however_it_comes() {
    const ENDS: [&str; 4] = ["stop", "timeout", "killed", "lingering"];
    let name = |how: &&str| (*how).to_owned();
    outlive_testkit::checks::every(&ENDS, name, |how| {
        let world = World::new();
        let script = if *how == "lingering" {
            "sleep 60 & until [ -e \"$GO\" ]; do sleep 0.02; done"
        } else {
            "exec sleep 60"
        };
        let limit = if *how == "timeout" { "300ms" } else { "1h" };
        let first = ok(
            &world,
            &["run", "--queue", "q", "--timeout", limit, "--shell", script],
        );
        let second = queued(&world, "q", "true");
        match *how {
            "stop" => drop(world.ok(&["stop", &first])),
            "killed" => outlive_testkit::processes::kill_for_good(world.leader(&first)),
            "lingering" => let_go(&world),
            _ => {}
        }
        assert_ran_after(&world, &second, &first);
        if *how == "lingering" {
            world.ok(&["stop", &first]);
        }
        assert_queue_is_empty(&world);
    });
}

#[test]
fn queues_do_not_wait_for_each_other() {
    let world = World::new();
    let first = runner(&world, "q");
    let waits = waiter(&world, 1, "true");
    let other = queued(&world, "other", "true");
    assert_ran_once(&world, &other);
    assert_waits(&world, &waits, 1);
    let_go(&world);
    assert_ran_after(&world, &waits, &first);
}

/// A job in a queue and with a lock takes its turn first, and then waits for the lock.
#[test]
fn a_job_of_a_queue_may_need_a_lock_too() {
    let world = World::new();
    let holder = ok(
        &world,
        &[
            "run",
            "--lock",
            "x",
            "--shell",
            outlive_testkit::scripts::WAITS,
        ],
    );
    let both = ok(
        &world,
        &["run", "--queue", "q", "--lock", "x", "--", "true"],
    );
    let job = world.show(&both);
    assert_eq!(
        job["waiting_for"],
        json!({"lock": "x", "holder": holder}),
        "{job}"
    );
    let next = waiter(&world, 1, "true");
    let_go(&world);
    assert_ran_after(&world, &both, &holder);
    assert_ran_after(&world, &next, &both);
    assert_queue_is_empty(&world);
}

#[test]
fn a_queue_that_cannot_be_is_refused_with_what_to_write() {
    let world = World::new();
    for (queue, said) in [
        (
            "q:0",
            "\"0\" is not a width; write NAME or NAME:N, where N is a number from 1 to 1000",
        ),
        ("q:x", "\"x\" is not a width"),
        (":2", "the queue \"\" cannot be used: it is empty"),
    ] {
        let ran = world.outlive(&["run", "--queue", queue, "--", "true"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
    assert!(!world.home().join("queues").exists());
}

/// `--timeout` counts from the start of the command, and `--wait` waits for the turn too.
#[test]
fn the_time_in_the_line_does_not_count() {
    let world = World::new();
    let first = runner(&world, "q");
    let second = ok(
        &world,
        &[
            "run",
            "--queue",
            "q",
            "--timeout",
            "200ms",
            "--",
            "sleep",
            "60",
        ],
    );
    let args = ["run", "--queue", "q", "--wait", "--shell", "exit 7"];
    let third = outlive_testkit::processes::begin(with_go(&world, &args));
    let begun = outlive_sys::clock::boot_ms();
    outlive_testkit::waiting::until("its time would be up", || {
        outlive_sys::clock::boot_ms() > begun + 300
    });
    assert_waits(&world, &second, 1);
    let_go(&world);
    assert_eq!(Ran::end_of(third).code, 7);
    let job = world.wait(&second);
    assert_eq!(job["ended_by"], "timeout", "{job}");
    assert!(world.boot_ms(&second, "spawned") >= world.boot_ms(&first, "ended"));
}
