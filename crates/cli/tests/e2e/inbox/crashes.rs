//! Consumers and keepers are killed at every step. No event is lost: it is told under one ID until it is acked, and
//! never after that.

use super::{
    Consumer, ME, ack, assert_nothing_waits, end_event, ended, event_ids, inbox, only_event,
    waiting,
};
use crate::adoption::keepers;
use outlive_testkit::checks::{assert_nothing_is_left, every};
use outlive_testkit::processes::until_blocked;
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go, with_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Runs a consumer that is killed at this step.
fn killed_at(world: &World, hook: &str, options: &[&str]) -> Ran {
    let own = ["inbox", "--session", ME, "--json"];
    let mut command = world.command([&own, options].concat());
    let ran = Ran::of(command.env("OUTLIVE_HOOKS", format!("consumer:{hook}=kill")));
    assert_eq!(ran.code, 137, "{ran:?}");
    ran
}

#[test]
fn a_consumer_killed_at_any_step_loses_and_repeats_nothing() {
    // The step, whether the event was printed before the kill, and at which attempt it is told again.
    let cells = [
        ("Looked", false, Some(1)),
        ("Claimed", false, Some(2)),
        ("Delivered", true, Some(2)),
        ("Acked", true, None),
    ];
    every(
        &cells,
        |cell| cell.0.to_owned(),
        |(hook, is_out, again)| {
            let world = World::new();
            let event = end_event(&world, &ended(&world, "true"));
            let ran = killed_at(&world, hook, &["--ack-all", "--claim", "500ms"]);
            assert_eq!(ran.stdout.contains(&event), *is_out, "{ran:?}");
            if let Some(attempt) = again {
                assert_eq!(waiting(&world, ME), 1);
                let given = only_event(&inbox(&world, &["--wait=20s"]));
                assert_eq!(given["event"], json!(event));
                assert_eq!(given["attempt"], *attempt);
                ack(&world, &event);
            }
            assert_nothing_waits(&world);
        },
    );
}

#[test]
fn a_consumer_killed_as_it_acks_loses_nothing() {
    for (hook, left) in [("Delivered", 1), ("Acked", 0)] {
        let world = World::new();
        let event = end_event(&world, &ended(&world, "true"));
        inbox(&world, &[]);
        killed_at(&world, hook, &["--ack", &event]);
        assert_eq!(waiting(&world, ME), left, "{hook}");
        ack(&world, &event);
        assert_nothing_waits(&world);
    }
}

/// The consumer may have acked the whole batch, some events or none. No event is lost.
#[test]
fn a_consumer_killed_within_a_batch_loses_nothing() {
    for hook in ["Claimed", "Delivered"] {
        let world = World::new();
        let mut events: Vec<String> = (0..4)
            .map(|_| end_event(&world, &ended(&world, "true")))
            .collect();
        killed_at(&world, hook, &["--ack-all", "--claim", "500ms"]);
        let mut given = Vec::new();
        until("all are given", || {
            given.extend(event_ids(&inbox(&world, &["--ack-all"])));
            given.len() >= events.len()
        });
        given.sort();
        events.sort();
        assert_eq!(given, events, "{hook}");
        assert_nothing_waits(&world);
    }
}

/// The steps at the end of a job.
const STEPS: [&str; 8] = [
    "LeaderEnded",
    "Drained",
    "OutputSynced",
    "EndedRecorded",
    "Noted",
    "Told",
    "Reaped",
    "Retired",
];

#[derive(Clone, Copy, Debug)]
struct Cell {
    hook: &'static str,
    action: &'static str,
    /// Whether a consumer waits from the beginning, or looks only later.
    waits: bool,
}

fn cells() -> Vec<Cell> {
    let actions = ["kill", "kill-both"].into_iter();
    actions
        .flat_map(|action| STEPS.into_iter().map(move |hook| (hook, action)))
        .flat_map(|(hook, action)| {
            [false, true].map(|waits| Cell {
                hook,
                action,
                waits,
            })
        })
        .collect()
}

/// Runs a job whose first keepers have this hook.
fn doomed(world: &World, cell: Cell, script: &str) {
    let hooks = format!("OUTLIVE_HOOKS=keeper:{}={}", cell.hook, cell.action);
    let args = [
        "run",
        "--session",
        ME,
        "--id",
        "job",
        "--env",
        &hooks,
        "--shell",
        script,
    ];
    let ran = Ran::of(&mut with_go(world, &args));
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// The event that the session gets for a job whose keepers are killed while it ends.
fn told(world: &World, cell: Cell) -> Value {
    let waiter = cell
        .waits
        .then(|| Consumer::of(world, &["--wait", "--claim", "500ms"]));
    if let Some(waiter) = &waiter {
        until_blocked(waiter.pid());
    }
    let_go(world);
    match waiter {
        Some(waiter) => only_event(&waiter.answer()),
        None => {
            if cell.action == "kill-both" {
                until("both are gone", || keepers(world).is_empty());
            }
            only_event(&inbox(world, &["--wait=30s", "--claim", "500ms"]))
        }
    }
}

#[test]
fn keepers_killed_at_any_step_of_the_end_have_it_told_once() {
    every(
        &cells(),
        |cell| format!("{cell:?}"),
        |cell| {
            let world = World::new();
            doomed(&world, *cell, &format!("{WAITS} echo end; exit 7"));
            let first = told(&world, *cell);
            assert_eq!(first["event"], json!(end_event(&world, "job")));
            let known = [json!(7), Value::Null].contains(&first["data"]["exit_code"]);
            assert!(known, "{first}");
            let again = only_event(&inbox(&world, &["--wait=30s"]));
            assert_eq!(again["event"], first["event"]);
            assert_eq!(again["data"]["outcome"], first["data"]["outcome"]);
            // On a slow machine a claim may expire before the event is printed.
            assert!(again["attempt"].as_u64() > first["attempt"].as_u64());
            ack(&world, first["event"].as_str().unwrap());
            assert_nothing_waits(&world);
            assert_eq!(world.events("job", "ended").len(), 1);
            world.until_over("job");
            assert_nothing_waits(&world);
            assert_nothing_is_left(&world, "job");
        },
    );
}

/// The lingering processes end after the end of the job was told and acked.
#[test]
fn keepers_killed_as_lingering_ends_have_it_told_once() {
    for action in ["kill", "kill-both"] {
        let world = World::new();
        let cell = Cell {
            hook: "Closed",
            action,
            waits: false,
        };
        let script = format!("({WAITS} true) & exit 7");
        doomed(&world, cell, &script);
        let event = only_event(&inbox(&world, &["--wait=30s"]));
        assert_eq!(event["data"]["exit_code"], 7, "{event}");
        assert_ne!(event["data"]["lingering"], 0, "{event}");
        ack(&world, event["event"].as_str().unwrap());
        assert_eq!(waiting(&world, ME), 0);
        let_go(&world);
        until("nobody keeps it", || keepers(&world).is_empty());
        // The end of the lingering processes is told once too.
        let event = only_event(&inbox(&world, &["--ack-all"]));
        assert_eq!(event["kind"], "lingering_ended", "{event}");
        assert_nothing_waits(&world);
        assert_nothing_is_left(&world, "job");
        assert!(!world.home().join("inbox").join(ME).exists());
    }
}
