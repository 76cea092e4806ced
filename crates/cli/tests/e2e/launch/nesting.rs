//! Jobs that start jobs.

use super::{text, with_outlive};
use outlive_testkit::checks::{exited, until_output};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::loop_until;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};

fn nest(world: &World, end: &str) -> PathBuf {
    let go = world.path("go");
    let inner = format!("{}; echo inner ended; exit 9", loop_until(&go));
    let outer = format!("\"$OUTLIVE\" run --id inner --shell '{inner}'; {end}");
    let ran = Ran::of(&mut with_outlive(
        world.command(["run", "--id", "outer", "--shell", &outer]),
    ));
    assert_eq!(ran.code, 0, "{ran:?}");
    until_output(world, "outer", "inner\n");
    go
}

fn assert_inner_ends_exactly(world: &World, go: &Path) {
    assert_eq!(world.show("inner")["state"], "running");
    assert_eq!(world.events("inner", "kept").len(), 1);
    File::create(go).unwrap();
    let job = world.wait("inner");
    assert_eq!(job["outcome"], exited(9));
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(text(world.output("inner")), "inner ended\n");
}

#[test]
fn a_job_started_inside_a_job_outlives_its_stop() {
    let world = World::new();
    let go = nest(&world, "sleep 60");
    world.ok(&["stop", "outer"]);
    assert_eq!(world.show("outer")["ended_by"], "stop");
    assert_inner_ends_exactly(&world, &go);
}

#[test]
fn a_job_started_inside_a_job_does_not_count_as_leftover() {
    let world = World::new();
    let go = nest(&world, "exit 0");
    let outer = world.wait("outer");
    assert_eq!(
        (&outer["exit_code"], &outer["lingering"]),
        (&json!(0), &json!(0))
    );
    until("the outer job is over", || {
        world.events("outer", "closed").len() == 1
    });
    assert_inner_ends_exactly(&world, &go);
}

#[test]
fn a_job_started_inside_a_job_outlives_its_stop_after_an_adoption() {
    let world = World::new();
    let go = nest(&world, "sleep 60");
    world.kill_both("outer");
    world.ok(&["stop", "outer"]);
    assert_eq!(world.show("outer")["ended_by"], "stop");
    assert_inner_ends_exactly(&world, &go);
}
