//! `inbox --wait` sleeps without polling, and wakes up for everything that can bring an event.

use super::{Consumer, ME, ack, end_event, ended, event_ids, inbox, only_event, post, waiting};
use crate::adoption::keepers;
use outlive_testkit::checks::keepings;
use outlive_testkit::processes::{CONT, KILL, kill, kill_for_good, until_blocked, until_stopped};
use outlive_testkit::scripts::{WAITS, let_go, ok};
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;

/// Starts a job of the session that ends with 7 when the test lets it.
fn held_job(world: &World) -> String {
    let script = format!("{WAITS} exit 7");
    ok(world, &["run", "--session", ME, "--shell", &script])
}

/// Starts a waiter, and returns once it sleeps.
fn waiter(world: &World, options: &[&str]) -> Consumer {
    let waiter = Consumer::of(world, &[&["--wait"], options].concat());
    until_blocked(waiter.pid());
    waiter
}

#[test]
fn pending_events_are_returned_at_once() {
    let world = World::new();
    let id = ended(&world, "true");
    held_job(&world);
    assert_eq!(
        event_ids(&inbox(&world, &["--wait"])),
        [end_event(&world, &id)]
    );
}

#[test]
fn an_end_wakes_a_waiter() {
    let world = World::new();
    let id = held_job(&world);
    let waiter = waiter(&world, &[]);
    let_go(&world);
    let event = only_event(&waiter.answer());
    assert_eq!(event["event"], json!(end_event(&world, &id)));
    assert_eq!(event["data"]["exit_code"], 7);
}

#[test]
fn a_job_that_is_started_later_wakes_a_waiter_when_it_ends() {
    let world = World::new();
    let waiter = waiter(&world, &[]);
    let id = held_job(&world);
    until_blocked(waiter.pid());
    let_go(&world);
    let answer = waiter.answer();
    assert_eq!(event_ids(&answer), [end_event(&world, &id)]);
}

#[test]
fn a_post_wakes_every_waiter_and_one_of_them_gets_it() {
    let world = World::new();
    let mut waiters: Vec<Consumer> = (0..3).map(|_| waiter(&world, &[])).collect();
    let first = post(&world, &json!({"goal": "g"}), &[]);
    let mut done = Vec::new();
    until("one has it", || {
        done.extend(waiters.extract_if(.., |waiter| waiter.child.try_wait().unwrap().is_some()));
        !done.is_empty()
    });
    assert_eq!(done.len(), 1);
    assert_eq!(event_ids(&done.remove(0).answer()), [first]);
    for waiter in &waiters {
        until_blocked(waiter.pid());
    }
}

#[test]
fn an_expired_claim_wakes_a_waiter() {
    let world = World::new();
    let id = ended(&world, "true");
    inbox(&world, &["--claim", "1500ms"]);
    let waiter = waiter(&world, &[]);
    let event = only_event(&waiter.answer());
    assert_eq!(event["event"], json!(end_event(&world, &id)));
    assert_eq!(event["attempt"], 2);
}

#[test]
fn a_wait_that_times_out_changes_nothing() {
    let world = World::new();
    let id = held_job(&world);
    let ran = world.outlive(&["inbox", "--session", ME, "--json", "--wait=100ms"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (124, "{\"events\":[]}\n"),
        "{ran:?}"
    );
    let ran = world.outlive(&["inbox", "--session", ME, "--wait=0"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (124, ""), "{ran:?}");
    let_go(&world);
    assert_eq!(
        event_ids(&inbox(&world, &["--wait"])),
        [end_event(&world, &id)]
    );
}

/// Once with nothing to wait for, and once with three running jobs and an event that another consumer has claimed.
#[test]
fn a_waiter_makes_no_system_calls_while_nothing_happens() {
    needs!(Strace);
    for busy in [false, true] {
        let world = World::new();
        if busy {
            ended(&world, "true");
            inbox(&world, &[]);
            (0..3).for_each(|_| drop(held_job(&world)));
        }
        let waiter = waiter(&world, &[]);
        let trace = watch_for_two_seconds(&world, &[waiter.pid()]);
        assert_eq!(trace.lines().count(), 1, "{trace}");
        assert!(!trace.contains(" = "), "{trace}");
        let_go(&world);
    }
}

#[test]
fn a_waiter_leaves_no_bell_behind() {
    let world = World::new();
    let bells = || {
        let inbox = world.home().join("inbox").join(ME);
        match inbox.exists() {
            true => outlive_testkit::records::names_in(&inbox),
            false => Vec::new(),
        }
    };
    world.outlive(&["inbox", "--session", ME, "--wait=10ms"]);
    assert_eq!(bells(), [""; 0]);
    // A waiter that was killed leaves its bell. The next ring removes it.
    let killed = waiter(&world, &[]);
    kill_for_good(killed.pid());
    assert_eq!(bells().len(), 1);
    let event = post(&world, &json!({}), &[]);
    assert_eq!(event_ids(&inbox(&world, &[])), [event.as_str()]);
    assert_eq!(bells(), [event.split(':').next().unwrap()]);
    ack(&world, &event);
    inbox(&world, &[]);
    assert_eq!(bells(), [""; 0]);
}

/// A bell that is being created must not be mistaken for one that a killed waiter left.
#[test]
fn a_bell_that_is_just_being_hung_up_rings() {
    let world = World::new();
    let own = ["inbox", "--session", ME, "--json", "--follow", "--ack-all"];
    let mut command = world.command(own);
    command.env("OUTLIVE_HOOKS", "consumer:BellMade=stop");
    let mut follower = Consumer::begin(command);
    until_stopped(follower.pid());
    let first = post(&world, &json!({}), &[]);
    kill(follower.pid(), CONT);
    assert_eq!(follower.line()["event"], json!(first));
    until_blocked(follower.pid());
    let second = post(&world, &json!({}), &[]);
    assert_eq!(follower.line()["event"], json!(second));
}

#[test]
fn a_waiter_survives_the_keeper_of_what_it_waits_for() {
    let world = World::new();
    let id = held_job(&world);
    let waiter = waiter(&world, &[]);
    kill_for_good(world.pair(&id).keeper);
    until("the standby keeps it", || keepings(&world, &id).len() == 2);
    let_go(&world);
    let event = only_event(&waiter.answer());
    assert_eq!(event["data"]["exit_code"], 7, "{event}");
    assert_eq!(keepings(&world, &id), ["launched", "taken_over"]);
}

/// Nobody else runs a verb, so the waiter itself must adopt the job.
#[test]
fn a_waiter_adopts_a_job_whose_keepers_were_both_killed() {
    let world = World::new();
    let id = held_job(&world);
    let waiter = waiter(&world, &[]);
    world.kill_both(&id);
    until("it is adopted", || {
        keepings(&world, &id).contains(&"adopted".to_owned())
    });
    let_go(&world);
    let event = only_event(&waiter.answer());
    assert_eq!(event["event"], json!(end_event(&world, &id)));
    assert_eq!(event["data"]["exit_code"], 7, "{event}");
}

#[test]
fn inbox_without_wait_adopts_a_job_whose_keepers_were_both_killed() {
    let world = World::new();
    let id = held_job(&world);
    world.kill_both(&id);
    assert_eq!(event_ids(&inbox(&world, &[])), [""; 0]);
    assert_eq!(keepers(&world).len(), 2);
    let_go(&world);
    assert_eq!(
        event_ids(&inbox(&world, &["--wait"])),
        [end_event(&world, &id)]
    );
}

/// The launcher is suspended after it named the job and before it starts a keeper.
#[test]
fn a_stuck_launch_blocks_no_waiter() {
    let world = World::new();
    let mut launcher = world.command(["run", "--session", ME, "--id", "stuck", "--", "true"]);
    launcher.env("OUTLIVE_HOOKS", "launcher:Named=stop");
    let launcher = Consumer::begin(launcher);
    until_stopped(launcher.pid());
    let ran = world.outlive(&["inbox", "--session", ME, "--json", "--wait=300ms"]);
    assert_eq!(ran.code, 124, "{ran:?}");
    let mut follower = Consumer::of(&world, &["--follow", "--ack-all"]);
    let other = ended(&world, "true");
    assert_eq!(follower.line()["job"], json!(other));
    kill(launcher.pid(), CONT);
    assert_eq!(follower.line()["job"], "stuck");
    assert_eq!(launcher.end().code, 0);
}

/// A launcher that is killed during the start leaves a job whose end is told.
#[test]
fn a_launcher_that_is_killed_wakes_a_waiter() {
    let world = World::new();
    let mut launcher = world.command(["run", "--session", ME, "--id", "stuck", "--", "true"]);
    launcher.env("OUTLIVE_HOOKS", "launcher:Named=stop");
    let launcher = Consumer::begin(launcher);
    until_stopped(launcher.pid());
    let waiter = Consumer::of(&world, &["--wait"]);
    until_blocked(waiter.pid());
    kill(launcher.pid(), KILL);
    let event = only_event(&waiter.answer());
    assert_eq!(event["data"]["outcome"]["kind"], "not_started", "{event}");
    assert_eq!(waiting(&world, ME), 1);
}

/// A waiter also reports the events that are dropped while it waits.
#[test]
fn a_waiter_reports_events_that_were_dropped() {
    let world = World::new();
    let id = ended(&world, "true");
    inbox(&world, &["--claim", "1s"]);
    super::configure(&world, "[inbox]\nattempts = 1\n");
    let waiter = waiter(&world, &[]);
    let answer = waiter.answer();
    assert_eq!(event_ids(&answer), [end_event(&world, &id)]);
    assert_eq!(answer["dropped"], json!([end_event(&world, &id)]));
}
