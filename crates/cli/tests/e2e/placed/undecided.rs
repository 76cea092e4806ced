//! Verbs about a job whose start was never sent: `run` was killed before. The place is connected, because something else
//! waits for it, so no new connection finds out what became of the start.

use super::Far;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use std::process::Child;

/// A place that somebody waits for, and a job whose `run` was killed when it had its directory here.
fn abandoned() -> (Far, Child) {
    let far = Far::new();
    let world = &far.world;
    far.start("other", "exec sleep 60");
    let waiter = begin(world.command(["wait", "other"]));
    until("somebody waits", || far.is_listened_to());
    let mut run = world.command(["run", "--place", "far", "--id", "job", "--session", "s"]);
    run.args(["--", "true"]);
    let ran = Ran::of(run.env("OUTLIVE_HOOKS", "launcher:Relinked=kill"));
    assert_ne!(ran.code, 0, "{ran:?}");
    (far, waiter)
}

fn leave(far: &Far, waiter: Child) {
    far.world.ok(&["stop", "other"]);
    assert_eq!(Ran::end_of(waiter).code, 143);
}

#[test]
fn a_stop_returns() {
    let (far, waiter) = abandoned();
    let ran = far.world.try_outlive(&["stop", "job"]).unwrap();
    assert_eq!(ran.code, 0, "{ran:?}");
    let job = far.world.show("job");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    leave(&far, waiter);
}

#[test]
fn to_show_it_settles_it() {
    let (far, waiter) = abandoned();
    let job = far.world.show("job");
    assert_eq!(job["outcome"]["kind"], "not_started", "{job}");
    leave(&far, waiter);
}

#[test]
fn its_output_is_empty() {
    let (far, waiter) = abandoned();
    let ran = far.world.try_outlive(&["log", "job", "--raw"]).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    leave(&far, waiter);
}

#[test]
fn a_signal_finds_it_over() {
    let (far, waiter) = abandoned();
    let ran = far.world.try_outlive(&["signal", "job", "USR1"]).unwrap();
    let here = far
        .world
        .try_outlive(&["run", "--id", "here", "--wait", "--", "true"]);
    assert_eq!(here.unwrap().code, 0);
    let signal = far.world.try_outlive(&["signal", "here", "USR1"]).unwrap();
    assert_eq!(ran.code, signal.code, "{ran:?}");
    leave(&far, waiter);
}
