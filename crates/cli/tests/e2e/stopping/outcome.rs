//! The outcome of a stopped job.

use super::{grace_taken, stopped, with_silence};
use outlive_testkit::checks::{exited, signaled};
use outlive_testkit::processes::{STOP, is_alive, kill, pid_in, until_stopped};
use outlive_testkit::scripts::{IGNORES, started};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::Value;
use std::process::Child;
use std::time::{Duration, Instant};

#[test]
fn a_job_that_traps_term_and_exits_0_exited_0_ended_by_stop() {
    let world = World::new();
    let id = started(&world, &[], "trap 'exit 0' TERM; echo up; sleep 60 & wait");
    let ran = world.outlive(&["stop", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, "");
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["outcome"], exited(0));
    assert_eq!(job["exit_code"], 0);
    assert_eq!(job["ended_by"], "stop");
    let who = job["ended_by_detail"].as_str().unwrap();
    assert!(who.starts_with("outlive stop, pid "), "{who}");
}

#[test]
fn a_stop_tells_which_session_asked() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    let mut stop = world.command(["stop", &id]);
    assert!(
        stop.env("OUTLIVE_SESSION", "alpha")
            .output()
            .unwrap()
            .status
            .success()
    );
    assert_eq!(world.show(&id)["ended_by_detail"], "session alpha");
}

#[test]
fn a_job_that_does_not_trap_term_ends_by_it_at_once() {
    let world = World::new();
    let id = world.ok(&["run", "--grace", "60s", "--", "sleep", "60"]);
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], signaled("SIGTERM"));
    assert_eq!(job["exit_code"], 143);
    assert_eq!(job["ended_by"], "stop");
}

#[test]
fn a_job_that_ignores_term_is_killed_after_the_grace() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let begun = Instant::now();
    let job: Value = world.job(&["stop", &id, "--grace", "400ms", "--json"]);
    assert!(begun.elapsed() >= Duration::from_millis(400));
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(job["exit_code"], 137);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(world.outlive(&["wait", &id]).code, 137);
    assert!(grace_taken(&world, &id) >= 400);
}

#[test]
fn term_comes_once_and_before_the_kill() {
    let world = World::new();
    let script = "trap 'echo asked' TERM; echo up; while :; do read -t 60 -u 9; done";
    let id = started(&world, &[], &with_silence(&world, script));
    let job = world.job(&["stop", &id, "--grace", "700ms", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(world.output(&id), b"up\nasked\n");
}

#[test]
fn a_job_has_the_grace_it_was_started_with() {
    let world = World::new();
    let id = started(&world, &["--grace", "300ms"], IGNORES);
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    let asked = world.events(&id, "stop_requested");
    assert_eq!(asked[0]["grace_ms"], 300);
    let taken = grace_taken(&world, &id);
    assert!((300..2000).contains(&taken), "{taken} ms");
}

#[test]
fn no_grace_kills_at_once() {
    let world = World::new();
    let id = started(&world, &["--grace", "60s"], IGNORES);
    let job = world.job(&["stop", &id, "--grace", "0", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
}

/// Starts a stop, and returns once the job shows as stopping.
fn under_way(world: &World, id: &str, grace: &str) -> Child {
    let stop = world.stopping(&[id], grace);
    until("the stop is under way", || {
        world.show(id)["state"] == "stopping"
    });
    stop
}

#[test]
fn a_second_stop_may_hurry_the_first() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let mut first = under_way(&world, &id, "10m");
    let job = world.job(&["stop", &id, "--grace", "100ms", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(world.events(&id, "ended").len(), 1);
}

#[test]
fn a_second_stop_may_not_delay_the_first() {
    let world = World::new();
    let id = started(&world, &[], IGNORES);
    let mut first = under_way(&world, &id, "500ms");
    world.ok(&["stop", &id, "--grace", "10m"]);
    assert_eq!(first.wait().unwrap().code(), Some(0));
    assert_eq!(world.show(&id)["outcome"], signaled("SIGKILL"));
}

#[test]
fn what_a_trap_starts_in_order_to_clean_up_is_let_do_so() {
    let world = World::new();
    // The orphan ends at once, so the keeper looks at the process tree again while the traps clean up.
    let script = "(sleep 60 &); trap 'sleep 0.3 && echo cleaned; exit 5' TERM; echo up; read -u 9";
    let script = with_silence(&world, script);
    let ids: Vec<String> = (0..16)
        .map(|_| started(&world, &["--grace", "20s"], &script))
        .collect();
    let mut args = vec!["stop"];
    args.extend(ids.iter().map(String::as_str));
    world.ok(&args);
    for id in &ids {
        let output = String::from_utf8(world.output(id)).unwrap();
        assert_eq!(output, "up\ncleaned\n", "{id}");
        let job = world.show(id);
        assert_eq!(job["outcome"], exited(5));
        assert_eq!(job["ended_by"], "stop");
    }
}

#[test]
fn what_a_trap_starts_is_killed_with_the_rest_when_the_grace_is_over() {
    let world = World::new();
    let pid = world.path("pid");
    let helper = format!("sh -c \"echo \\$\\$ > {}; exec sleep 60\"", pid.display());
    let script = format!("trap '{helper}' TERM; echo up; while :; do read -u 9; done");
    let id = started(&world, &[], &with_silence(&world, &script));
    let job = world.job(&["stop", &id, "--grace", "1s", "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"));
    assert!(!is_alive(pid_in(&pid)));
}

#[test]
fn a_suspended_job_is_stopped_too() {
    let world = World::new();
    let script = "trap 'echo asked; exit 3' TERM; echo up; while :; do read -u 9; done";
    let id = started(&world, &["--grace", "20s"], &with_silence(&world, script));
    let leader = world.leader(&id);
    kill(leader, STOP);
    until_stopped(leader);
    let job = stopped(&world, &id);
    assert_eq!(job["outcome"], exited(3));
    assert_eq!(job["ended_by"], "stop");
    assert!(world.output(&id).ends_with(b"asked\n"));
}

#[test]
fn a_suspended_job_that_ignores_term_is_killed() {
    let world = World::new();
    let id = started(&world, &["--grace", "200ms"], IGNORES);
    let leader = world.leader(&id);
    kill(leader, STOP);
    until_stopped(leader);
    assert_eq!(stopped(&world, &id)["outcome"], signaled("SIGKILL"));
}
