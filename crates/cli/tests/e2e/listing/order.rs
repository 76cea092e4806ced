//! Which jobs `list` shows, and in which order.

use super::{assert_lists, ended, fabricate};
use outlive_testkit::processes::{CONT, kill};
use outlive_testkit::scripts::{loop_until, sleeper};
use outlive_testkit::world::World;
use std::fs;

#[test]
fn running_jobs_come_first_by_start_then_ended_ones_newest_end_first() {
    let world = World::new();
    // The job with the oldest start and the newest end.
    let late = world.ok(&["run", "--", "sleep", "60"]);
    let first = ended(&world, &[]);
    let running = [sleeper(&world, &[]), sleeper(&world, &[])];
    let second = ended(&world, &[]);
    world.ok(&["stop", &late]);
    assert_lists(
        &world,
        &[],
        &[&running[0], &running[1], &late, &second, &first],
    );
}

#[test]
fn a_state_selects_the_jobs_in_it() {
    let world = World::new();
    let running = sleeper(&world, &[]);
    let over = ended(&world, &[]);
    assert_lists(&world, &["--state", "running"], &[&running]);
    assert_lists(&world, &["--state", "ended"], &[&over]);
    assert_lists(&world, &["--state", "all"], &[&running, &over]);
    assert_eq!(world.outlive(&["list", "--state", "asleep"]).code, 2);
}

#[test]
fn a_limit_counts_ended_jobs_only_and_keeps_the_newest() {
    let world = World::new();
    let running = [sleeper(&world, &[]), sleeper(&world, &[])];
    let over: Vec<String> = (0..4).map(|_| ended(&world, &[])).collect();
    assert_lists(
        &world,
        &["--limit", "2"],
        &[&running[0], &running[1], &over[3], &over[2]],
    );
    assert_lists(&world, &["--limit", "0"], &[&running[0], &running[1]]);
    assert_lists(&world, &["--limit", "1", "--state", "ended"], &[&over[3]]);
}

#[test]
fn twenty_ended_jobs_are_shown_unless_asked_otherwise() {
    let world = World::new();
    let ids_made = fabricate(&world, 25);
    let newest: Vec<&String> = ids_made.iter().rev().take(20).collect();
    assert_lists(&world, &[], &newest);
    assert_eq!(world.listed(&["--limit", "100"]).len(), 26);
}

#[test]
fn a_lingering_job_does_not_displace_a_newer_one() {
    let world = World::new();
    let lingering = world.shell("setsid sleep 60 & exit 0");
    world.wait(&lingering);
    let newer = ended(&world, &[]);
    assert_eq!(world.show(&lingering)["lingering"], 1);
    assert_lists(&world, &["--limit", "1"], &[&newer]);
    assert_lists(&world, &["--state", "running"], &[]);
    assert_lists(&world, &[], &[&newer, &lingering]);
}

#[test]
fn an_end_that_was_noted_late_keeps_its_place() {
    let world = World::new();
    let go = world.path("go");
    let first = world.shell_with_hooks("keeper:EndedRecorded=stop", &loop_until(&go));
    fs::write(&go, "").unwrap();
    // The keeper has recorded the end in the journal, but not yet in the history.
    let keeper = world.until_keeper_stops(&first);
    let second = ended(&world, &[]);
    kill(keeper, CONT);
    world.until_over(&first);
    assert_lists(&world, &[], &[&second, &first]);
    assert_lists(&world, &["--limit", "1"], &[&second]);
}

#[test]
fn a_session_and_a_task_select_their_jobs() {
    let world = World::new();
    let alpha = ["--session", "alpha"];
    let beta = ["--session", "beta/β"];
    let a = sleeper(&world, &[&alpha[..], &["--task", "build"]].concat());
    let b = sleeper(&world, &[&beta[..], &["--task", "build"]].concat());
    let c = ended(&world, &[&alpha[..], &["--task", "test"]].concat());
    let d = ended(&world, &beta);
    let e = ended(&world, &[]);
    assert_lists(&world, &alpha, &[&a, &c]);
    assert_lists(&world, &beta, &[&b, &d]);
    assert_lists(&world, &["--task", "build"], &[&a, &b]);
    assert_lists(&world, &[&alpha[..], &["--task", "test"]].concat(), &[&c]);
    assert_lists(&world, &[&beta[..], &["--state", "ended"]].concat(), &[&d]);
    assert_lists(&world, &["--session", "nobody"], &[]);
    assert_lists(&world, &["--task", "alpha"], &[]);
    assert_lists(&world, &[], &[&a, &b, &e, &d, &c]);
}

#[test]
fn a_limit_counts_only_what_was_selected() {
    let world = World::new();
    let mine = ended(&world, &["--session", "s", "--task", "t"]);
    for _ in 0..3 {
        ended(&world, &[]);
    }
    assert_lists(&world, &["--session", "s", "--limit", "1"], &[&mine]);
    assert_lists(&world, &["--task", "t", "--limit", "1"], &[&mine]);
}

#[test]
fn a_session_key_that_cannot_be_one_is_wrong_usage() {
    let world = World::new();
    for bad in ["", "a\nb", &"x".repeat(300)] {
        assert_eq!(
            world.outlive(&["list", "--session", bad]).code,
            2,
            "{bad:?}"
        );
    }
}
