//! `run --foreground` inside another job. Other jobs that are started inside a job outlive it. A foreground job
//! belongs to the outer job and ends with it.

use super::SAVES;
use outlive_testkit::checks::until_wrote;
use outlive_testkit::world::World;

/// A script that runs `inner` in the foreground. On TERM, `inner` saves its work.
fn runs_inner(then: &str) -> String {
    let outlive = outlive_testkit::programs::outlive();
    format!("'{outlive}' run --foreground --id inner -- sh -c \"$SAVES\" {then}")
}

/// Starts `outer` with these options, and waits until `inner` is up.
fn start(world: &World, options: &[&str], script: &str) {
    let args = [
        &["run", "--id", "outer"],
        options,
        &["--", "sh", "-c", script],
    ];
    let mut command = world.command(args.concat());
    let status = command.env("SAVES", SAVES).status().unwrap();
    assert!(status.success());
    until_wrote(world, "inner", "up\n");
}

fn assert_inner_saved(world: &World) {
    world.until_over("inner");
    let inner = world.show("inner");
    assert_eq!(inner["ended_by"], "place", "{inner}");
    assert_eq!(inner["exit_code"], 9, "{inner}");
    world.until_nothing_runs();
}

#[test]
fn the_outer_one_can_be_stopped() {
    for script in [
        // `inner` is the leader of the outer job, a child of the leader, or an orphan.
        format!("exec {}", runs_inner("")),
        runs_inner("; exit 3"),
        format!("({} &) ; exec sleep 60", runs_inner("")),
    ] {
        let world = World::new();
        start(&world, &[], &script);
        world.ok(&["stop", "outer"]);
        assert_inner_saved(&world);
        assert_eq!(world.show("outer")["ended_by"], "stop", "{script}");
    }
}

#[test]
fn a_time_limit_of_the_outer_one_holds() {
    let world = World::new();
    let script = format!("exec {}", runs_inner(""));
    start(&world, &["--timeout", "3s"], &script);
    assert_eq!(world.wait("outer")["ended_by"], "timeout");
    assert_inner_saved(&world);
}

/// The outer job is killed at once. Then the keeper of the inner job stops that job with its own grace time.
#[test]
fn an_outer_one_without_grace_does_not_wait_for_it() {
    let world = World::new();
    start(&world, &[], &format!("exec {}", runs_inner("")));
    world.ok(&["stop", "outer", "--grace", "0s"]);
    assert_inner_saved(&world);
}

#[test]
fn the_outer_one_is_adopted_with_it() {
    for script in [format!("exec {}", runs_inner("")), runs_inner("; exit 3")] {
        let world = World::new();
        start(&world, &[], &script);
        world.kill_both("outer");
        world.ok(&["stop", "outer"]);
        assert_inner_saved(&world);
    }
}

/// In its namespace, the process in the foreground has another pid than outside.
#[test]
fn the_outer_one_can_be_stopped_from_outside_a_namespace() {
    needs!(Root);
    let world = World::new();
    let namespace = "exec unshare --pid --fork --mount-proc";
    start(&world, &[], &format!("{namespace} {}", runs_inner("")));
    world.ok(&["stop", "outer", "--grace", "20s"]);
    assert_inner_saved(&world);
}
