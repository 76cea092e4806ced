//! The keeper or its standby is killed at each hook while input is sent.

use super::{assert_no_fifo, reader_with_hooks, stopped};
use outlive_sys::process;
use outlive_testkit::checks::{assert_nothing_is_left, every, keepings};
use outlive_testkit::processes::{CONT, kill, kill_for_good};
use outlive_testkit::scripts::{numbers, send_line};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::thread;

/// Every hook that the keeper of such a job comes to. The job reads its input to the end and ends by itself.
const HOOKS: [&str; 18] = [
    "Begun",
    "Forked",
    "Spawned",
    "GateOpened",
    "Executed",
    "Started",
    "Ready",
    "InputAccepted",
    "Captured",
    "LeaderEnded",
    "Drained",
    "OutputSynced",
    "EndedRecorded",
    "Noted",
    "Told",
    "Reaped",
    "Closed",
    "Retired",
];

/// Sends lines to a job until it ends, and checks what the job has read.
fn drive(world: &World, hooks: &str) -> String {
    let id = reader_with_hooks(world, hooks, "exec cat");
    (1..=5).for_each(|n| send_line(world, &id, &n.to_string()));
    world.ok(&["send", &id, "6\n", "--eof"]);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 0, "{job}");
    assert_eq!(job["ended_by"], "itself", "{job}");
    assert_eq!(job["awaiting_input"], false, "{job}");
    assert_eq!(world.output(&id), numbers(6));
    id
}

#[test]
fn a_keeper_killed_at_any_hook_loses_and_doubles_no_input() {
    every(&HOOKS, ToString::to_string, |hook| {
        let world = World::new();
        let id = drive(&world, &format!("keeper:{hook}=kill"));
        assert_nothing_is_left(&world, &id);
        assert_no_fifo(&world, &id);
        let kept = keepings(&world, &id);
        // Whether the keeper comes to this hook depends on what ends first.
        match *hook {
            "Begun" | "Forked" => assert_eq!(kept, ["taken_over"]),
            "Closed" => {}
            _ => assert_eq!(kept, ["launched", "taken_over"]),
        }
    });
}

#[test]
fn a_standby_killed_at_any_hook_loses_and_doubles_no_input() {
    every(&HOOKS, ToString::to_string, |hook| {
        let world = World::new();
        thread::scope(|scope| {
            let job = scope.spawn(|| drive(&world, &format!("keeper:{hook}=stop")));
            let mut keeper = None;
            until("the job is over", || {
                match keeper {
                    // The keeper may come to its hook several times, and stops each time.
                    Some(keeper) => kill(keeper, CONT),
                    None => {
                        keeper = stopped(&world);
                        let parent = keeper.and_then(process::stat).map(|stat| stat.parent);
                        parent.into_iter().for_each(kill_for_good);
                    }
                }
                job.is_finished() && world.processes().is_empty()
            });
            assert!(
                keeper.is_some() || *hook == "Closed",
                "the keeper never came to the hook"
            );
            let id = job.join().unwrap();
            assert_eq!(keepings(&world, &id), ["launched"]);
            assert_no_fifo(&world, &id);
        });
    });
}
