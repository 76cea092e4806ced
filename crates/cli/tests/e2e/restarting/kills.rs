//! A keeper or its standby is killed at each step around the end of an attempt, the pause and the next start.

use super::{END, NOTED, codes, runs, start, start_with_hooks};
use outlive_sys::process;
use outlive_testkit::checks::{assert_nothing_is_left, every, keepings};
use outlive_testkit::processes::{CONT, is_stopped, kill, kill_for_good};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// The steps of a job with two attempts, in order, and which time the keeper comes to each.
const STEPS: [&str; 24] = [
    "Ready",
    "LeaderEnded",
    "Drained",
    "OutputSynced",
    "AttemptEnded",
    "AttemptReaped",
    "Terminated",
    "AttemptDue",
    "GateParked",
    "Forked#2",
    "Spawned#2",
    "GateOpened#2",
    "Executed#2",
    "Captured#2",
    "LeaderEnded#2",
    "Drained#2",
    "OutputSynced#2",
    "EndedRecorded",
    "Noted",
    "Told",
    "Reaped",
    "Forked",
    "Spawned",
    "GateOpened",
];

const OPTIONS: [&str; 4] = ["--restart", "on-failure:1", "--session", "s"];

fn script() -> String {
    format!("{NOTED}{END}exit 3")
}

/// Both attempts ran, one after the other, with nothing lost or told twice.
fn assert_two_attempts(world: &World) {
    let job = world.wait("job");
    assert_eq!(job["exit_code"], 3, "{job}");
    assert_eq!(runs(world), ["start", "end", "start", "end"]);
    assert_eq!(codes(&world.show("job")), [Some(3), Some(3)]);
    assert_eq!(world.output("job"), b"run\nrun\n");
    assert_eq!(world.ok(&["log", "job", "--attempt", "2", "--peek"]), "run");
    for (kind, count) in [
        ("attempt_ended", 1),
        ("spawned", 2),
        ("started", 2),
        ("ended", 1),
    ] {
        assert_eq!(world.events("job", kind).len(), count, "{kind} events");
    }
    assert_nothing_is_left(world, "job");
    let told = world.json(&["inbox", "--session", "s", "--json", "--ack-all"]);
    let kinds: Vec<&str> = told["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["restarted", "ended"]);
    assert_eq!(
        world.json(&["inbox", "--session", "s", "--json"])["events"],
        serde_json::json!([])
    );
}

#[test]
fn a_keeper_killed_at_any_step_loses_and_doubles_no_attempt() {
    every(
        &STEPS,
        |step| format!("keeper killed at {step}"),
        |step| {
            let world = World::new();
            let hooks = format!("keeper:{step}=kill");
            let ran = start_with_hooks(&world, &hooks, &OPTIONS, &script());
            assert_eq!(ran.code, 0, "{ran:?}");
            assert_two_attempts(&world);
            let taken_over = keepings(&world, "job")
                .iter()
                .filter(|how| *how == "taken_over")
                .count();
            // Output may come together with the end.
            assert!(
                taken_over == 1 || *step == "Captured#2",
                "the keeper never came there"
            );
        },
    );
}

/// The standby is replaced by a child of the keeper, which shares nothing that the keeper makes after the fork.
#[test]
fn a_standby_killed_at_any_step_loses_nothing() {
    every(
        &STEPS,
        |step| format!("standby killed at {step}"),
        |step| {
            let world = World::new();
            let hooks = format!("keeper:{step}=stop");
            std::thread::scope(|scope| {
                let starting =
                    scope.spawn(|| start_with_hooks(&world, &hooks, &OPTIONS, &script()));
                let mut keeper = None;
                until("the job is over", || {
                    match keeper {
                        // The keeper may come to its step several times, and stops each time.
                        Some(keeper) => kill(keeper, CONT),
                        None => {
                            keeper = world.processes().into_iter().find(|pid| is_stopped(*pid));
                            let parent = keeper.and_then(process::stat).map(|stat| stat.parent);
                            parent.into_iter().for_each(kill_for_good);
                        }
                    }
                    starting.is_finished() && world.processes().is_empty()
                });
                let ran = starting.join().unwrap();
                assert_eq!(ran.code, 0, "{ran:?}");
            });
            assert_two_attempts(&world);
        },
    );
}

/// Then the successor is no parent of the leader, and its gate is one that was made after it was forked.
#[test]
fn a_successor_that_the_keeper_forked_starts_and_ends_attempts_exactly() {
    let steps = [
        "AttemptEnded",
        "AttemptDue",
        "GateParked",
        "Forked#2",
        "Spawned#2",
        "GateOpened#2",
        "Executed#2",
    ];
    every(
        &steps,
        |step| format!("keeper killed at {step}"),
        |step| {
            let world = World::new();
            let hooks = format!("keeper:{step}=kill");
            let script = format!("{NOTED}until [ -e \"$GO\" ]; do sleep 0.02; done; {END}exit 3");
            let ran = start_with_hooks(&world, &hooks, &OPTIONS, &script);
            assert_eq!(ran.code, 0, "{ran:?}");
            world.kill_standby("job");
            until("there is a new standby", || {
                !world.events("job", "new_standby").is_empty()
            });
            outlive_testkit::scripts::let_go(&world);
            assert_two_attempts(&world);
            assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
        },
    );
}

#[test]
fn a_keeper_killed_in_a_pause_leaves_the_time_of_the_next_attempt_as_it_was() {
    let world = World::new();
    start(&world, &OPTIONS, &script());
    until("it waits", || world.show("job")["state"] == "waiting");
    let at = world.show("job")["next_attempt_at"].clone();
    world.kill_keeper("job");
    let shown = world.show("job");
    // It may have begun meanwhile on a busy machine.
    assert!(
        shown["next_attempt_at"] == at || shown["attempt"] == 2,
        "{shown}"
    );
    assert_two_attempts(&world);
    let next_at = world.events("job", "attempt_ended")[0]["next_at"].as_u64();
    let journal = world.journal("job");
    let second = journal
        .iter()
        .rfind(|record| !record["event"]["spawned"].is_null())
        .unwrap();
    assert!(second["at"]["boot_ms"].as_u64() >= next_at);
}
