//! Keepers and errands of jobs in a queue are killed.

use super::{
    assert_queue_is_empty, assert_ran_after, assert_ran_once, assert_waits, queued, runner,
    until_running, waiter, waiter_with_hooks,
};
use crate::locks::{Book, errand, errands};
use outlive_testkit::checks::{every, keepings};
use outlive_testkit::processes::{is_alive, kill_for_good};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn one_killed_keeper_does_not_pass_the_turn_on() {
    let world = World::new();
    let first = runner(&world, "q");
    let second = waiter(&world, 1, "true");
    kill_for_good(world.pair(&first).keeper);
    until("the standby has taken over", || {
        keepings(&world, &first).len() == 2
    });
    assert_waits(&world, &second, 1);
    let_go(&world);
    assert_ran_after(&world, &second, &first);
    assert_queue_is_empty(&world);
}

/// Nobody adopts the job before its end: the first of the line sleeps on its process.
#[test]
fn without_keepers_a_job_counts_while_its_process_runs() {
    let world = World::new();
    let book = Book::new(&world);
    let first = queued(&world, "q", &format!("{WAITS}{}", book.note("first")));
    let leader = world.leader(&first);
    let second = waiter(&world, 1, &book.note("second"));
    world.kill_both(&first);
    let third = waiter(&world, 2, &book.note("third"));
    assert_waits(&world, &second, 1);
    assert!(is_alive(leader));
    let_go(&world);
    assert_ran_once(&world, &third);
    assert_ran_once(&world, &second);
    assert_eq!(book.lines(), ["first", "second", "third"]);
    world.wait(&first);
    assert_queue_is_empty(&world);
}

/// New keepers adopt the running job, and its place in the queue with it.
#[test]
fn an_adopted_job_has_its_place_again() {
    let world = World::new();
    let first = runner(&world, "q");
    let second = waiter(&world, 1, "true");
    world.kill_both(&first);
    assert_eq!(world.show(&first)["state"], "running");
    assert_eq!(keepings(&world, &first), ["launched", "adopted"]);
    assert_waits(&world, &second, 1);
    let third = waiter(&world, 2, "true");
    let_go(&world);
    assert_ran_after(&world, &second, &first);
    assert_ran_after(&world, &third, &second);
    assert_queue_is_empty(&world);
}

#[test]
fn a_waiter_that_loses_its_keepers_loses_only_its_place() {
    let world = World::new();
    let first = runner(&world, "q");
    let ids: Vec<String> = (1..=3)
        .map(|position| waiter(&world, position, "true"))
        .collect();
    world.kill_both(&ids[1]);
    until("the next one moves up", || {
        world.show(&ids[2])["waiting_for"]["position"] == 2
    });
    world.kill_both(&ids[0]);
    until("the next one moves up", || {
        world.show(&ids[2])["waiting_for"]["position"] == 1
    });
    for id in &ids[..2] {
        let job = world.show(id);
        let reason = "its keepers were killed while it waited in the queue q";
        assert_eq!(job["outcome"]["reason"], reason, "{job}");
    }
    let_go(&world);
    assert_ran_after(&world, &ids[2], &first);
    assert_queue_is_empty(&world);
}

#[test]
fn a_keeper_or_an_errand_that_is_killed_in_the_line_keeps_the_place() {
    const WHOM: [&str; 3] = ["keeper", "standby", "errand"];
    let name = |whom: &&str| (*whom).to_owned();
    every(&WHOM, name, |whom| {
        let world = World::new();
        let first = runner(&world, "q");
        let second = waiter(&world, 1, "echo ran");
        let third = waiter(&world, 2, "true");
        for id in [&second, &third] {
            let old = errand(&world, id);
            match *whom {
                "keeper" => kill_for_good(world.pair(id).keeper),
                "standby" => kill_for_good(world.pair(id).standby.unwrap()),
                _ => kill_for_good(old),
            }
            let is_new = |new: i32| *whom == "standby" || new != old;
            until(
                "one waits",
                || matches!(errands(&world, id).as_slice(), [new] if is_new(*new)),
            );
        }
        assert_waits(&world, &second, 1);
        assert_waits(&world, &third, 2);
        let_go(&world);
        assert_ran_after(&world, &second, &first);
        assert_ran_after(&world, &third, &second);
        assert_eq!(world.output(&second), b"ran\n");
        assert_queue_is_empty(&world);
    });
}

/// The steps of a job that joins a queue and has its turn at once.
const JOINING: [&str; 5] = [
    "QueueWidened",
    "QueueNumbered",
    "QueueJoined",
    "TurnTaken",
    "Forked",
];

#[test]
fn a_keeper_killed_while_it_joins_loses_nothing() {
    let name = |step: &&str| (*step).to_owned();
    every(&JOINING, name, |step| {
        let world = World::new();
        let book = Book::new(&world);
        let script = book.note("first");
        let args = ["run", "--queue", "q:1", "--shell", &script];
        let hooks = format!("keeper:{step}=kill");
        let ran = Ran::of(with_go(&world, &args).env("OUTLIVE_HOOKS", hooks));
        assert_eq!(ran.code, 0, "{ran:?}");
        let next = queued(&world, "q", &book.note("next"));
        assert_ran_once(&world, ran.stdout.trim_end());
        assert_ran_once(&world, &next);
        assert_eq!(book.lines(), ["first", "next"]);
        assert_queue_is_empty(&world);
    });
}

#[test]
fn killing_both_keepers_while_they_join_blocks_nobody() {
    let name = |step: &&str| (*step).to_owned();
    every(&JOINING, name, |step| {
        let world = World::new();
        let book = Book::new(&world);
        let script = book.note("first");
        let args = ["run", "--queue", "q:1", "--id", "first", "--shell", &script];
        let hooks = format!("keeper:{step}=kill-both");
        Ran::of(with_go(&world, &args).env("OUTLIVE_HOOKS", hooks));
        let next = queued(&world, "q", &book.note("next"));
        assert_ran_once(&world, &next);
        let job = world.wait("first");
        assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
        assert_eq!(book.lines(), ["next"]);
        // The next one that joins removes what the first has left.
        assert_ran_once(&world, &queued(&world, "q", "true"));
        assert_queue_is_empty(&world);
    });
}

/// The steps of a job whose turn comes after it has waited.
const TURN: [&str; 7] = [
    "errand:TurnTaken",
    "keeper:TurnCame",
    "keeper:Forked",
    "keeper:Spawned",
    "keeper:GateOpened",
    "keeper:Executed",
    "keeper:TurnPassed",
];

#[test]
fn a_process_killed_at_any_step_of_the_turn_loses_nothing() {
    let name = |step: &&str| (*step).to_owned();
    every(&TURN, name, |step| {
        let world = World::new();
        let book = Book::new(&world);
        let first = runner(&world, "q");
        let second = waiter_with_hooks(&world, 1, &format!("{step}=kill"), &book.note("ran"));
        let third = waiter(&world, 2, &book.note("next"));
        let_go(&world);
        assert_ran_after(&world, &second, &first);
        assert_ran_after(&world, &third, &second);
        assert_eq!(book.lines(), ["ran", "next"]);
        assert_queue_is_empty(&world);
    });
}

#[test]
fn killing_both_keepers_at_any_step_of_the_turn_passes_it_on() {
    let name = |step: &&str| (*step).to_owned();
    every(&TURN[1..], name, |step| {
        let world = World::new();
        let book = Book::new(&world);
        let first = runner(&world, "q");
        let hooks = format!("{step}=kill-both");
        let second = waiter_with_hooks(&world, 1, &hooks, &book.note("ran"));
        let third = waiter(&world, 2, &book.note("next"));
        let_go(&world);
        // Nobody looks at the second job before the third has run.
        assert_ran_once(&world, &third);
        let job = world.wait(&second);
        let ran = book.lines().iter().filter(|line| *line == "ran").count();
        match (job["outcome"]["kind"].as_str().unwrap(), *step) {
            ("not_started", "keeper:TurnCame" | "keeper:Forked") => assert_eq!(ran, 0),
            ("lost", "keeper:Spawned") => assert_eq!(ran, 0),
            ("exited", "keeper:TurnPassed") => assert_eq!(ran, 1),
            ("lost" | "exited", "keeper:GateOpened" | "keeper:Executed") => assert!(ran <= 1),
            _ => panic!("{job}"),
        }
        world.wait(&first);
        world.until_nothing_runs();
    });
}

/// The errand of the job that widens the queue is killed before it can ring.
#[test]
fn a_wider_queue_is_noticed_although_everyone_who_widened_it_was_killed() {
    let world = World::new();
    let first = runner(&world, "q");
    let second = waiter(&world, 1, WAITS);
    let args = ["run", "--queue", "q:2", "--id", "third", "--shell", WAITS];
    let hooks = "keeper:QueueWidened=kill";
    Ran::of(with_go(&world, &args).env("OUTLIVE_HOOKS", hooks));
    until_running(&world, &second);
    assert_waits(&world, "third", 1);
    let_go(&world);
    assert_ran_once(&world, &first);
    assert_ran_once(&world, "third");
    assert_queue_is_empty(&world);
}
