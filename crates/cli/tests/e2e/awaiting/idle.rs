//! The keepers sleep while their job waits for input.

use super::{PIPE, PTY, assert_does_not_await, begin_wait, start, wait_for_input};
use outlive_testkit::processes::sleeps_for_good;
use outlive_testkit::trace::watch_for_two_seconds;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::time::{Duration, Instant};

fn an_idle_pair_makes_no_system_calls(kind: &[&str], command: &[&str], given_up: bool) {
    let world = World::new();
    let id = start(&world, kind, command);
    if given_up {
        assert_does_not_await(&world, &id);
        let mut waiter = begin_wait(&world, &id);
        waiter.kill().unwrap();
        waiter.wait().unwrap();
    } else {
        assert_eq!(wait_for_input(&world, &id).code, 0);
    }
    // After this answer the keeper only has to notice that the client is gone.
    world.ok(&["signal", &id, "CONT"]);
    let pair = world.pair(&id);
    let both = [pair.keeper, pair.standby.unwrap()];
    // The keeper may check the job once more. Then it finds that no client waits.
    until_quiet(pair.keeper);
    until("both are asleep", || {
        both.iter().all(|pid| sleeps_for_good(*pid))
    });
    let trace = watch_for_two_seconds(&world, &both);
    assert_eq!(trace.lines().count(), 2, "{trace}");
    let returned = trace.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(returned, 0, "{trace}");
}

/// Waits until a process has not run for longer than the time between two checks of a keeper.
fn until_quiet(pid: i32) {
    let switches = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary"));
        line.unwrap().to_owned()
    };
    let mut last = (Instant::now(), switches());
    until("it is quiet", || {
        let now = switches();
        if now != last.1 {
            last = (Instant::now(), now);
        }
        last.0.elapsed() > Duration::from_millis(1100)
    });
}

#[test]
fn the_keepers_of_a_pipe_job_that_waits_for_input_make_no_system_calls() {
    needs!(Strace);
    an_idle_pair_makes_no_system_calls(PIPE, &["cat"], false);
}

#[test]
fn the_keepers_of_a_terminal_job_that_waits_for_input_make_no_system_calls() {
    needs!(Strace);
    an_idle_pair_makes_no_system_calls(PTY, &["bash", "--norc", "-i"], false);
}

#[test]
fn the_keepers_of_a_job_that_nobody_waits_for_any_more_make_no_system_calls() {
    needs!(Strace);
    an_idle_pair_makes_no_system_calls(PIPE, &["sleep", "60"], true);
}
