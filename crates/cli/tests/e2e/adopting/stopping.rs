//! `stop` reaches the processes of an adopted job, and no others.

use super::{Started, Stray, adopted, process_in};
use outlive_testkit::checks::{assert_nothing_is_left, signaled};
use outlive_testkit::processes::{Process, until_stopped};
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

#[test]
fn a_stop_ends_the_process_its_children_and_its_group() {
    let world = World::new();
    let [child, orphan] = ["child", "orphan"].map(|name| world.path(name));
    // The orphan's parent ends, so only its process group shows whose it is.
    let script = format!(
        "(sleep 600 & echo $! > {}); sleep 601 & echo $! > {}; wait",
        orphan.display(),
        child.display()
    );
    let started = Started::with(&world, &script);
    let bystander = Stray(Process::find(bystander(&world)).unwrap());
    let [child, orphan] = [child, orphan].map(|path| process_in(&path));
    let id = adopted(&world, started.pid(), &[]);
    let job = world.job(&["stop", &id, "--json"]);
    assert_eq!(job["ended_by"], "stop", "{job}");
    assert_eq!(job["outcome"], signaled("SIGTERM"), "{job}");
    assert!(!child.is_alive(), "the child");
    assert!(!orphan.is_alive(), "the orphan in its group");
    assert!(bystander.0.is_alive(), "a process that is not the job's");
    assert_nothing_is_left(&world, &id);
}

/// A process that shares nothing with the adopted one but its parent.
fn bystander(world: &World) -> i32 {
    let mut command = world.within("setsid", ["sleep", "602"]);
    let child = command.spawn().unwrap();
    let pid = child.id() as i32;
    std::thread::spawn(move || child.wait_with_output());
    pid
}

#[test]
fn a_process_that_ignores_term_is_killed_after_the_grace_period() {
    let world = World::new();
    let up = world.path("up");
    let script = format!(
        "trap '' TERM; echo $$ > {}; while :; do sleep 600; done",
        up.display()
    );
    let started = Started::with(&world, &script);
    process_in(&up);
    let id = adopted(&world, started.pid(), &["--grace", "100ms"]);
    let job = world.job(&["stop", &id, "--json"]);
    assert_eq!(job["outcome"], signaled("SIGKILL"), "{job}");
    assert_eq!(job["ended_by"], "stop");
}

/// The children become orphans before any keeper can look again. They were seen at the adoption.
#[test]
fn children_that_outlive_it_are_counted_and_stopped() {
    let world = World::new();
    let child = world.path("child");
    // A child in a session of its own is found by no group once its parent is gone.
    let script = format!(
        "setsid sh -c 'echo $$ > {}; exec sleep 600' & {WAITS} exit 5",
        child.display()
    );
    let mut started = Started::with(&world, &script);
    let child = process_in(&child);
    let _stray = Stray(child);
    let id = adopted(&world, started.pid(), &[]);
    let_go(&world);
    started.reap();
    let ended = world.wait(&id);
    assert_eq!(ended["lingering"], 1, "{ended}");
    assert!(child.is_alive());
    world.ok(&["stop", &id]);
    assert!(!child.is_alive());
    until("the job is closed", || world.show(&id)["lingering"] == 0);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_signal_reaches_it() {
    let world = World::new();
    let started = Started::with(&world, "exec sleep 600");
    let id = adopted(&world, started.pid(), &[]);
    world.ok(&["signal", &id, "STOP"]);
    until_stopped(started.pid());
    assert_eq!(world.show(&id)["suspended"], true);
    world.ok(&["stop", &id]);
}
