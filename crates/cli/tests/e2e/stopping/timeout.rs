//! `--timeout`.

use super::{grace_taken, with_silence};
use outlive_testkit::checks::{exited, signaled};
use outlive_testkit::scripts::{IGNORES, started};
use outlive_testkit::world::World;

#[test]
fn a_timeout_stops_a_job_and_is_what_ended_it() {
    let world = World::new();
    let id = world.ok(&["run", "--timeout", "300ms", "--", "sleep", "60"]);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], signaled("SIGTERM"));
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "timeout");
    let duration = job["duration_ms"].as_u64().unwrap();
    assert!((300..10_000).contains(&duration), "{duration} ms");
}

#[test]
fn a_timeout_kills_a_job_that_ignores_term_after_the_grace() {
    let world = World::new();
    let id = started(&world, &["--timeout", "500ms", "--grace", "250ms"], IGNORES);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(job["ended_by"], "timeout");
    assert!(job["duration_ms"].as_u64().unwrap() >= 750, "{job}");
    assert!(grace_taken(&world, &id) >= 250);
}

#[test]
fn a_job_that_answers_a_timeout_with_exit_0_exited_0_ended_by_timeout() {
    let world = World::new();
    let script = with_silence(&world, "trap 'echo bye; exit 0' TERM; echo up; read -u 9");
    let id = started(&world, &["--timeout", "500ms"], &script);
    let job = world.wait(&id);
    assert_eq!(job["outcome"], exited(0));
    assert_eq!(job["ended_by"], "timeout");
    assert_eq!(world.output(&id), b"up\nbye\n");
}

#[test]
fn a_job_that_ends_within_its_time_ended_by_itself() {
    let world = World::new();
    let id = world.ok(&["run", "--timeout", "60s", "--", "true"]);
    let job = world.wait(&id);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.events(&id, "stop_requested").len(), 0);
}
