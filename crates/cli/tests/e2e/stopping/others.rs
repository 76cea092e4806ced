//! A stop or a signal reaches no process of another job.

use super::{stopped, with_silence};
use outlive_testkit::processes::is_alive;
use outlive_testkit::scripts::{IGNORES, started};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use std::fs;
use std::process::{Child, Command};

#[test]
fn other_jobs_and_the_asker_itself_hear_nothing_of_a_stop() {
    let world = World::new();
    let trap = "trap 'echo heard' TERM HUP INT CONT USR1; echo up; while :; do read -u 9; done";
    let other = started(&world, &[], &with_silence(&world, trap));
    let mut own = own_child(&world);
    let victim = started(&world, &["--grace", "100ms"], IGNORES);
    world.ok(&["signal", &victim, "CONT"]);
    world.ok(&["stop", &victim]);

    assert_eq!(world.output(&other), b"up\n");
    assert_eq!(world.show(&other)["state"], "running");
    assert_eq!(own.try_wait().unwrap(), None);
    assert_eq!(fs::read(world.path("heard")).unwrap(), b"up\n");
    own.kill().unwrap();
    own.wait().unwrap();
}

/// A process in the group of this test that records every signal.
fn own_child(world: &World) -> Child {
    let heard = world.path("heard");
    let script = format!(
        "exec > {heard}; trap 'echo heard' TERM HUP INT CONT USR1; echo up; while :; do read -u 9; done",
        heard = heard.display()
    );
    let child = Command::new("bash")
        .args(["-c", &with_silence(world, &script)])
        .spawn()
        .unwrap();
    until("it is up", || {
        fs::read(&heard).is_ok_and(|text| text == b"up\n")
    });
    child
}

#[test]
fn a_job_started_from_inside_a_job_survives_the_outer_ones_stop() {
    let world = World::new();
    let (outer, inner) = nested(&world, "sleep 60");
    let pid = world.leader(&inner);
    let job = stopped(&world, &outer);
    assert_eq!(job["ended_by"], "stop");
    assert_eq!(job["lingering"], 0);
    assert!(is_alive(pid));
    assert_eq!(world.show(&inner)["state"], "running");
    let pair = world.pair(&inner);
    assert!(is_alive(pair.keeper) && pair.standby.is_some_and(is_alive));
    // Its keepers still work.
    assert_eq!(stopped(&world, &inner)["ended_by"], "stop");
    assert!(!is_alive(pid));
}

#[test]
fn a_job_started_from_inside_a_job_does_not_linger_in_it() {
    let world = World::new();
    let (outer, inner) = nested(&world, "exit 4");
    assert_eq!(world.wait(&outer)["exit_code"], 4);
    until("the outer job is closed", || {
        world.events(&outer, "closed").len() == 1
    });
    assert_eq!(world.show(&outer)["lingering"], 0);
    assert_eq!(world.events(&outer, "ended")[0]["lingering"], 0);
    assert_eq!(world.show(&inner)["state"], "running");
}

#[test]
fn a_signal_to_a_job_does_not_reach_the_jobs_started_from_it() {
    let world = World::new();
    let (outer, inner) = nested(
        &world,
        "trap 'echo heard' USR1; echo up; while :; do sleep 0.05; done",
    );
    until("the outer job is up", || {
        world.output(&outer).ends_with(b"up\n")
    });
    world.ok(&["signal", &outer, "USR1"]);
    until("the outer job heard", || {
        String::from_utf8_lossy(&world.output(&outer)).contains("heard")
    });
    assert_eq!(world.show(&inner)["state"], "running");
}

/// Starts a job that starts another job and then runs `then`. Returns the IDs of both.
fn nested(world: &World, then: &str) -> (String, String) {
    let file = world.path("inner");
    let script = format!(
        "{outlive} run -- sleep 60 > {file}.new && mv {file}.new {file}\n{then}",
        outlive = outlive_testkit::programs::outlive(),
        file = file.display(),
    );
    let outer = world.shell(&script);
    until("the inner job runs", || file.exists());
    let inner = fs::read_to_string(&file).unwrap().trim().to_owned();
    (outer, inner)
}
