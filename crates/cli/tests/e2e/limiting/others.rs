//! Processors, processes and the nice value.

use super::{assert_groups_are_gone, counter, groups, has_groups, limited};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn a_job_gets_no_more_processor_time_than_its_limit() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let busy = "while :; do :; done";
    let id = world.ok(&["run", "--cpus", "0.1", "--shell", busy]);
    let [group] = groups(&world, &id).try_into().unwrap();
    until("the job was held back", || {
        counter(&group, "cpu.stat", "nr_throttled").is_some_and(|times| times > 2)
    });
    assert_eq!(world.show(&id)["limits"]["cpus"], 0.1);
    world.ok(&["stop", &id]);
    assert_groups_are_gone(&world, &id);
}

#[test]
fn a_job_has_no_more_processes_than_its_limit() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let bomb = "exec sh -c 'i=0; while [ $i -lt 20 ]; do sleep 60 & i=$((i+1)); echo $i; done'";
    let job = limited(&world, &["--pids", "5", "--leftovers", "stop"], bomb);
    let id = job["id"].as_str().unwrap();
    assert_eq!(job["exit_code"], 2, "{job}");
    let output = String::from_utf8_lossy(&world.output(id)).into_owned();
    assert!(output.starts_with("1\n2\n3\n4\n"), "{output}");
    assert!(output.contains("annot fork"), "{output}");
    assert_groups_are_gone(&world, id);
    world.until_nothing_runs();
}

#[test]
fn all_processes_of_a_job_have_its_nice_value() {
    let world = World::new();
    let job = limited(&world, &["--nice", "7"], "nice; sh -c nice");
    assert_eq!(world.output(job["id"].as_str().unwrap()), b"7\n7\n");
    assert_eq!(job["limits"]["nice"], 7);
}

#[test]
fn several_limits_hold_at_once_and_show_says_which() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let options = "run --memory 1G --cpus 1.5 --pids 50 --nice 3 -- sleep 60";
    let id = world.ok(&options.split(' ').collect::<Vec<_>>());
    let shown = world.ok(&["show", &id]);
    let limits =
        "limits    1.0 GiB of memory, 1.5 processors, 50 processes, nice 3 (by control group";
    assert!(shown.contains(limits), "{shown}");
    world.ok(&["stop", &id]);
    assert_groups_are_gone(&world, &id);
}

/// A job that waits for a lock gets its groups when it starts.
#[test]
fn a_job_that_waited_for_a_lock_is_limited() {
    needs!(Root);
    let world = World::new();
    if !has_groups(&world) {
        return;
    }
    let first = world.ok(&["run", "--lock", "x", "--", "sleep", "60"]);
    let args = [
        "run",
        "--lock",
        "x",
        "--memory",
        "48M",
        "--",
        "tail",
        "/dev/zero",
    ];
    let second = world.ok(&args);
    assert_eq!(world.show(&second)["state"], "waiting");
    assert!(groups(&world, &second).is_empty());
    world.ok(&["stop", &first]);
    assert_eq!(world.wait(&second)["ended_by"], "memory");
    assert_groups_are_gone(&world, &second);
}
