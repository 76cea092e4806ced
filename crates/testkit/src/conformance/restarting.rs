//! Attempts of one job: `run --restart`.

use super::Case;
use super::steps::{assert_ended, run, start};
use crate::checks::exited;
use crate::waiting::until;
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "a_failing_command_is_run_again_and_each_attempt_is_exact",
        promise: "every attempt has its own outcome and its own part of the output; the last one is the job's",
        check: attempts,
    },
    Case {
        name: "a_stop_between_two_attempts_is_the_end",
        promise: "a stopped job starts no further attempt, and keeps the outcome of its last one",
        check: |world| {
            let id = start(world, &["--restart", "always"], "exit 6");
            until("it waits", || world.show(&id)["state"] == "waiting");
            world.ok(&["stop", &id]);
            let job = world.show(&id);
            assert_ended(&job, &exited(6), 6, "stop");
            world.until_nothing_runs();
            assert_eq!(world.show(&id)["attempt"], job["attempt"]);
        },
    },
];

fn attempts(world: &World) {
    let mark = world.path_there("first");
    let mark = mark.display();
    let script =
        format!("[ -e '{mark}' ] && {{ echo second; exit 0; }}; : > '{mark}'; echo first; exit 7");
    let (id, job) = run(world, &["--restart", "on-failure:3"], &script);
    assert_ended(&job, &exited(0), 0, "itself");
    let attempts = &world.show(&id)["attempts"];
    let codes: Vec<_> = (0..2)
        .map(|at| attempts[at]["exit_code"].as_i64())
        .collect();
    assert_eq!(codes, [Some(7), Some(0)], "{attempts}");
    for (number, text) in [("1", "first"), ("2", "second")] {
        assert_eq!(world.ok(&["log", &id, "--attempt", number]), text);
    }
}
