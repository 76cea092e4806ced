//! Keepers are killed while a job runs in the foreground.

use super::{SAVES, TERM, ask_to_end, by_place, command, ended, started};
use outlive_testkit::checks::{assert_nothing_is_left, assert_same_bytes, keepings};
use outlive_testkit::environment::behind;
use outlive_testkit::gate::Gate;
use outlive_testkit::processes::{begin, is_alive, kill_for_good, pid_in};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{go, let_go, numbers};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// Kills the keeper, so that the process in the foreground takes over and starts a new standby.
fn take_over(world: &World, front: i32) {
    let (keeper, standby) = world.settled_pair("job");
    assert_eq!(standby, front);
    kill_for_good(keeper);
    until("it has taken over", || world.pair("job").keeper == front);
    world.settled_pair("job");
}

#[test]
fn after_a_takeover_foreground_exits_with_the_code_of_the_job() {
    let world = World::new();
    let gate = Gate::new(&world);
    let script = format!("echo up; {}", gate.then("echo down; exit 6"));
    let child = started(&world, &[], &script);
    take_over(&world, child.id() as i32);
    gate.open();
    let ran = Ran::end_of(child);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (6, "up\ndown\n"),
        "{ran:?}"
    );
    assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
    assert_nothing_is_left(&world, "job");
}

#[test]
fn after_a_takeover_the_job_can_still_save_its_work() {
    let world = World::new();
    let child = started(&world, &[], SAVES);
    take_over(&world, child.id() as i32);
    ask_to_end(&child, TERM);
    let ran = Ran::end_of(child);
    assert_eq!(ran.code, 9, "{ran:?}");
    assert!(ran.stdout.ends_with("saved\n"), "{ran:?}");
    assert_eq!(ended(&world), by_place("SIGTERM", 9));
    assert_nothing_is_left(&world, "job");
}

#[test]
fn a_stop_is_finished_when_the_keeper_dies_during_it() {
    for place in ["StopAsked", "StopWritten", "Terminated", "LeaderEnded"] {
        let world = World::new();
        let mut command = command(&world, &[], SAVES);
        let child = begin({
            command.env("OUTLIVE_HOOKS", format!("keeper:{place}=kill"));
            command
        });
        super::until_up(&world);
        ask_to_end(&child, TERM);
        let ran = Ran::end_of(child);
        assert_eq!(ran.code, 9, "{place}: {ran:?}");
        assert!(ran.stdout.ends_with("saved\n"), "{place}: {ran:?}");
        assert_eq!(ended(&world), by_place("SIGTERM", 9), "{place}");
        assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
    }
}

#[test]
fn a_keeper_killed_under_load_loses_no_byte_of_the_copy() {
    const LAST: u32 = 1_000_000;
    let world = World::new();
    let ran = Ran::of(
        command(&world, &[], &format!("seq 1 {LAST}; exit 7"))
            .env("OUTLIVE_HOOKS", "keeper:Captured=kill"),
    );
    assert_eq!(ran.code, 7);
    assert_eq!(keepings(&world, "job"), ["launched", "taken_over"]);
    assert_same_bytes("the output", &world.output("job"), &numbers(LAST));
    assert_same_bytes("the copy", ran.stdout.as_bytes(), &numbers(LAST));
}

/// Kills the other process of the pair again and again, never the one in the foreground.
#[test]
fn killing_one_of_the_pair_again_and_again_loses_no_byte_of_the_copy() {
    let world = World::new();
    let script = "echo up; until [ -e \"$GO\" ]; do seq 1 500; done; exit 7";
    let mut command = command(&world, &["--max-output", "0"], script);
    let child = begin({
        command.env("GO", go(&world));
        command
    });
    let front = child.id() as i32;
    let copy = std::thread::spawn(move || child.wait_with_output().unwrap());
    super::until_up(&world);
    for _ in 0..4 {
        let (keeper, standby) = world.settled_pair("job");
        assert!(keeper == front || standby == front);
        kill_for_good(if keeper == front { standby } else { keeper });
        until("there are two again", || {
            let pair = world.pair("job");
            (pair.keeper, pair.standby) != (keeper, Some(standby))
        });
    }
    let_go(&world);
    let ended = copy.join().unwrap();
    assert_eq!(ended.status.code(), Some(7));
    assert_same_bytes("the copy", &ended.stdout, &world.output("job"));
    assert_eq!(world.show("job")["output"]["complete"], true);
    assert_nothing_is_left(&world, "job");
}

/// A foreground job must not outlive the process in the foreground. Nobody could tell its end to the engine, which may
/// already have started the job elsewhere.
#[test]
fn a_job_whose_foreground_is_killed_is_stopped() {
    let world = World::new();
    let mut child = started(&world, &[], SAVES);
    child.kill().unwrap();
    child.wait().unwrap();
    world.until_over("job");
    let gone = "the process that ran it in the foreground was killed";
    assert_eq!(ended(&world), by_place(gone, 9));
    assert!(world.output("job").ends_with(b"saved\n"));
    assert_nothing_is_left(&world, "job");
}

#[test]
fn a_job_whose_foreground_took_over_and_is_killed_is_stopped() {
    let world = World::new();
    let mut child = started(&world, &[], SAVES);
    take_over(&world, child.id() as i32);
    child.kill().unwrap();
    child.wait().unwrap();
    world.until_over("job");
    let gone = "the process that ran it in the foreground was killed";
    assert_eq!(ended(&world), by_place(gone, 9));
    assert_nothing_is_left(&world, "job");
}

/// A shell may start other processes before it executes `outlive run --foreground`.
#[test]
fn a_takeover_does_not_touch_other_processes_of_the_caller() {
    let world = World::new();
    let gate = Gate::new(&world);
    let script = format!("echo up; {}", gate.then("exit 6"));
    let inner = command(&world, &["--leftovers", "stop"], &script);
    let (other, ended) = (world.path("other"), world.path("ended"));
    let before = "setsid sh -c 'echo $$ > \"$OTHER\"; exec sleep 60' & \
                  until [ -s \"$OTHER\" ]; do sleep 0.01; done; exec \"$@\"";
    let mut outer = behind("sh", ["-c", before, "sh"], &inner);
    // The process that stays behind would keep pipes of this test open, so the output goes to a file.
    let out = std::fs::File::create(&ended).unwrap();
    outer.env("OTHER", &other).stdout(out.try_clone().unwrap());
    let mut child = outer.stderr(out).spawn().unwrap();
    super::until_up(&world);
    take_over(&world, child.id() as i32);
    gate.open();
    let code = child.wait().unwrap().code();
    let other = pid_in(&other);
    let lived = is_alive(other);
    kill_for_good(other);
    assert_eq!((code, lived), (Some(6), true));
    assert_eq!(world.events("job", "lingering").len(), 0);
}
