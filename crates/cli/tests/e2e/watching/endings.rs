//! Waiting for readiness, a match or a silence, when the job ends first.

use super::ready::free_port;
use super::{inbox_of, run, world};
use outlive_testkit::processes::{begin, until_blocked};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;
use serde_json::Value;

#[test]
fn a_wait_for_a_job_that_ends_first_fails_as_the_job_does() {
    for (code, expected) in [(0, 125), (7, 7)] {
        let world = World::new();
        let id = run(
            &world,
            &["--ready", "line:up"],
            &format!("{WAITS} exit {code}"),
        );
        let waiter = begin(world.command(["wait", &id, "--for", "ready"]));
        until_blocked(waiter.id() as i32);
        let_go(&world);
        let ran = Ran::end_of(waiter);
        assert_eq!(ran.code, expected, "{ran:?}");
        assert!(
            ran.stdout.contains("exited"),
            "the outcome is not printed: {ran:?}"
        );
        // A later client gets the same answer.
        assert_eq!(
            world.outlive(&["wait", &id, "--for", "ready"]).code,
            expected
        );
        assert_eq!(world.show(&id)["ready"], false);
        assert_eq!(inbox_of(&world, "ready"), [Value::Null; 0]);
    }
}

#[test]
fn a_run_of_a_job_that_ends_first_says_so() {
    for (sign, code, expected) in [
        ("line:up", 0, 125),
        ("line:up", 7, 7),
        ("port", 0, 125),
        ("port", 3, 3),
    ] {
        let world = World::new();
        let sign = match sign {
            "port" => format!("port:{}", free_port()),
            line => line.to_owned(),
        };
        let script = format!("echo not yet; sleep 0.1; exit {code}");
        let ran = world.outlive(&["run", "--ready", &sign, "--wait-ready", "--shell", &script]);
        assert_eq!(ran.code, expected, "{ran:?}");
        assert!(ran.stderr.contains("ended before it was ready"), "{ran:?}");
        assert_eq!(world.show(ran.stdout.trim())["ready"], false);
        world.until_nothing_runs();
    }
}

/// The last line of the job made it ready, just before its end. Both count.
#[test]
fn a_job_that_was_ready_at_its_end_was_ready() {
    let world = world("[watch]\nstill = \"20s\"\n");
    let id = run(&world, &["--ready", "line:^up$"], "printf 'not up\\nup'");
    world.wait(&id);
    assert_eq!(world.show(&id)["ready"], true);
    assert_eq!(world.outlive(&["wait", &id, "--for", "ready"]).code, 0);
    assert_eq!(world.events(&id, "ready").len(), 1);
}

#[test]
fn a_wait_for_a_match_or_a_silence_of_a_job_that_ends_fails() {
    let world = World::new();
    for what in ["match", "quiet"] {
        let id = run(
            &world,
            &["--watch", "x", "--quiet-after", "20s"],
            "sleep 0.1",
        );
        let ran = world.outlive(&["wait", &id, "--for", what, "--timeout", "10s"]);
        assert_eq!(ran.code, 125, "{what}: {ran:?}");
    }
}
