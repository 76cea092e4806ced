//! Two consumers never hold the same event at once, and a killed consumer blocks nobody.

use super::{
    Consumer, ME, ack, assert_nothing_waits, end_event, ended, event_ids, inbox, only_event,
    waiting,
};
use outlive_testkit::processes::{CONT, kill, until_stopped};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Lets twenty consumers ask at the same time, and returns the events that each of them got.
fn race(world: &World, options: &[&str]) -> Vec<Vec<String>> {
    let consumers: Vec<Consumer> = (0..20).map(|_| Consumer::of(world, options)).collect();
    let given = |consumer: Consumer| event_ids(&consumer.answer());
    consumers.into_iter().map(given).collect()
}

fn events(world: &World, count: usize) -> Vec<String> {
    let mut events: Vec<String> = (0..count)
        .map(|_| end_event(world, &ended(world, "true")))
        .collect();
    events.sort();
    events
}

#[test]
fn each_event_goes_to_one_of_many_consumers() {
    let world = World::new();
    let events = events(&world, 8);
    let mut given = race(&world, &[]).concat();
    given.sort();
    assert_eq!(given, events);
}

/// A consumer that loses the race for the oldest event takes the next one.
#[test]
fn many_consumers_get_one_event_each() {
    let world = World::new();
    let events = events(&world, 20);
    let given = race(&world, &["--limit", "1"]);
    assert!(given.iter().all(|given| given.len() == 1), "{given:?}");
    let mut given = given.concat();
    given.sort();
    assert_eq!(given, events);
}

/// Another consumer writes its claim first, after this one has looked.
#[test]
fn a_consumer_that_lost_a_race_takes_the_next_event() {
    let world = World::new();
    let first = end_event(&world, &ended(&world, "true"));
    let mut command = world.command(["inbox", "--session", ME, "--json", "--limit", "1"]);
    command.env("OUTLIVE_HOOKS", "consumer:Looked=stop");
    let late = Consumer::begin(command);
    until_stopped(late.pid());
    let second = end_event(&world, &ended(&world, "true"));
    assert_eq!(event_ids(&inbox(&world, &["--limit", "1"])), [first]);
    kill(late.pid(), CONT);
    until_stopped(late.pid());
    kill(late.pid(), CONT);
    assert_eq!(event_ids(&late.answer()), [second]);
}

#[test]
fn a_waiter_that_lost_a_race_wakes_when_the_claim_expires() {
    let world = World::new();
    let event = end_event(&world, &ended(&world, "true"));
    let mut command = world.command(["inbox", "--session", ME, "--json", "--wait"]);
    command.env("OUTLIVE_HOOKS", "consumer:Looked=stop");
    let late = Consumer::begin(command);
    until_stopped(late.pid());
    inbox(&world, &["--claim", "1s"]);
    // The hook stops it each time it looks.
    until("it is done", || {
        kill(late.pid(), CONT);
        !outlive_testkit::processes::is_alive(late.pid())
    });
    let again = only_event(&late.answer());
    assert_eq!(
        (&again["event"], &again["attempt"]),
        (&json!(event), &json!(2))
    );
}

#[test]
fn a_suspended_consumer_blocks_nobody() {
    let world = World::new();
    let event = end_event(&world, &ended(&world, "true"));
    let own = [
        "inbox",
        "--session",
        ME,
        "--json",
        "--claim",
        "500ms",
        "--ack-all",
    ];
    let mut command = world.command(own);
    command.env("OUTLIVE_HOOKS", "consumer:Claimed=stop");
    let still = Consumer::begin(command);
    until_stopped(still.pid());
    let other = only_event(&inbox(&world, &["--wait=20s"]));
    assert_eq!(
        (&other["event"], &other["attempt"]),
        (&json!(event), &json!(2))
    );
    // Its claim has expired, and it notices that.
    kill(still.pid(), CONT);
    assert_eq!(still.answer(), json!({ "events": [] }));
    assert_eq!(waiting(&world, ME), 1);
    ack(&world, &event);
    assert_nothing_waits(&world);
}

/// Another consumer acks the event while this one is suspended.
#[test]
fn a_consumer_that_was_suspended_does_not_get_acked_events() {
    let world = World::new();
    ended(&world, "true");
    let own = ["inbox", "--session", ME, "--json", "--claim", "500ms"];
    let mut command = world.command(own);
    command.env("OUTLIVE_HOOKS", "consumer:Claimed=stop");
    let still = Consumer::begin(command);
    until_stopped(still.pid());
    let given = inbox(&world, &["--wait=20s", "--ack-all"]);
    assert_eq!(event_ids(&given).len(), 1);
    kill(still.pid(), CONT);
    assert_eq!(still.answer(), json!({ "events": [] }));
    assert_nothing_waits(&world);
}

/// `--ack-all` acks what was delivered, not what was only claimed.
#[test]
fn ack_all_acks_what_was_delivered() {
    let world = World::new();
    let delivered = end_event(&world, &ended(&world, "true"));
    assert_eq!(event_ids(&inbox(&world, &[])), [delivered]);
    let new = end_event(&world, &ended(&world, "true"));
    assert_eq!(event_ids(&inbox(&world, &["--ack-all"])), [new]);
    assert_nothing_waits(&world);

    let event = end_event(&world, &ended(&world, "true"));
    let own = ["inbox", "--session", ME, "--json", "--claim", "1s"];
    let mut command = world.command(own);
    command.env("OUTLIVE_HOOKS", "consumer:Claimed=kill");
    assert_eq!(Consumer::begin(command).end().code, 137);
    let answer = inbox(&world, &["--ack-all"]);
    let answer: Value = match event_ids(&answer).is_empty() {
        true => inbox(&world, &["--ack-all", "--wait=20s"]),
        // The claim had already expired.
        false => answer,
    };
    let again = only_event(&answer);
    assert_eq!(
        (&again["event"], &again["attempt"]),
        (&json!(event), &json!(2))
    );
    assert_nothing_waits(&world);
}
