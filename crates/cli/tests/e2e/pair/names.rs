//! The standby syncs the directories of a job, so that no client has to wait for the disk.

use outlive_testkit::checks::{assert_nothing_is_left, keepings};
use outlive_testkit::processes::{CONT, begin, is_alive, kill, until_blocked, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{go, let_go, loop_until};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// Starts a job that runs until the test lets it end. Its standby does `action` when it syncs. Returns the job's ID
/// and the pid of that standby, unless the standby was dead before its keeper recorded it.
fn waiter(world: &World, action: &str) -> (String, Option<i32>) {
    let script = format!("echo up; {}; echo late; exit 7", loop_until(&go(world)));
    let id = world.shell_with_hooks(&format!("standby:Syncs={action}"), &script);
    // The first standby. If it is killed, another may have replaced it already.
    let standby = &world.events(&id, "kept")[0]["standby"]["pid"];
    let standby = standby.as_i64().map(|pid| i32::try_from(pid).unwrap());
    (id, standby)
}

/// The hook makes the standby as slow as with a slow disk.
#[test]
fn a_keeper_waits_for_no_disk_while_its_job_runs() {
    let world = World::new();
    let (id, standby) = waiter(&world, "stop");
    let standby = standby.unwrap();
    until_stopped(standby);
    world.ok(&["signal", &id, "CONT"]);
    let_go(&world);
    let job = world.wait(&id);
    assert_eq!(job["exit_code"], 7);
    assert_eq!(world.output(&id), b"up\nlate\n");
    kill(standby, CONT);
    assert_nothing_is_left(&world, &id);
}

/// Keeper and standby both listen on the socket. A connection that neither accepts stays open as long as one of them
/// lives.
#[test]
fn a_client_that_comes_at_the_end_does_not_wait_for_a_slow_standby() {
    let world = World::new();
    let hooks = "standby:Syncs=stop,keeper:Drained=stop";
    let script = format!("{}; exit 7", loop_until(&go(&world)));
    let id = world.shell_with_hooks(hooks, &script);
    let standby = world.pair(&id).standby.unwrap();
    until_stopped(standby);
    let_go(&world);
    let keeper = world.until_keeper_stops(&id);
    let waiter = begin(world.command(["wait", &id, "--timeout", "30s"]));
    until_blocked(waiter.id() as i32);
    kill(keeper, CONT);
    assert_eq!(Ran::end_of(waiter).code, 7);
    kill(standby, CONT);
    assert_nothing_is_left(&world, &id);
}

#[test]
fn a_standby_killed_at_the_end_removes_nothing() {
    let world = World::new();
    let (id, standby) = waiter(&world, "kill");
    until("the standby is gone", || !standby.is_some_and(is_alive));
    let_go(&world);
    assert_eq!(world.wait(&id)["exit_code"], 7);
    assert_eq!(keepings(&world, &id), ["launched"]);
    assert_nothing_is_left(&world, &id);
}
