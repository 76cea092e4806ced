//! Lingering processes of a job without keepers.

use outlive_testkit::checks::{assert_nothing_is_left, keepings, until_output};
use outlive_testkit::scripts::{WAITS, let_go, start};
use outlive_testkit::world::World;

#[test]
fn lingering_processes_of_an_unkept_job_can_be_stopped() {
    let world = World::new();
    let id = start(
        &world,
        &format!("({WAITS} echo late; exec sleep 60) & echo main; exit 5"),
    );
    assert_eq!(world.outlive(&["wait", &id]).code, 5);
    world.kill_both(&id);
    let job = world.show(&id);
    assert_eq!(job["state"], "ended");
    assert_eq!(job["exit_code"], 5);
    assert_eq!(keepings(&world, &id), ["launched", "adopted"]);
    let_go(&world);
    until_output(&world, &id, "main\nlate\n");
    assert_eq!(world.show(&id)["lingering"], 1);
    let job = world.job(&["stop", &id, "--json"]);
    assert_eq!(job["exit_code"], 5);
    assert_eq!(job["ended_by"], "itself");
    assert_eq!(world.events(&id, "ended").len(), 1);
    assert_eq!(world.events(&id, "closed")[0]["output_bytes"], 10);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn an_adopted_job_closes_when_its_lingering_processes_end() {
    let world = World::new();
    let id = start(
        &world,
        &format!("(setsid sh -c '{WAITS} echo late') & echo main; exit 5"),
    );
    assert_eq!(world.outlive(&["wait", &id]).code, 5);
    world.kill_both(&id);
    world.show(&id);
    let_go(&world);
    assert_nothing_is_left(&world, &id);
    assert_eq!(world.output(&id), b"main\nlate\n");
    assert_eq!(world.show(&id)["lingering"], 0);
}
