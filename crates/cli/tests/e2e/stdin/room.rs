//! Writes that are larger than the free space in the job's pipe.

use super::{
    PPOLL, ROOM, begin_send, end_input, letters, noise, reader, sum, system_call_of, until_it_waits,
};
use outlive_testkit::checks::{assert_nothing_is_left, until_output};
use outlive_testkit::processes::{CONT, STOP, is_alive, kill, until_stopped};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;

/// The number of the system call with which a client sends its bytes.
const SENDTO: &str = "44";

/// A client that waits gets its answer when the job has read enough.
#[test]
fn a_send_waits_until_a_slow_job_has_room_and_loses_nothing() {
    let world = World::new();
    let id = reader(
        &world,
        &format!("read first; echo \"$first\"; {WAITS}exec sha256sum"),
    );
    let bytes = letters(3 * ROOM);
    let sender = begin_send(&world, &id, &[], &[b"first\n", &bytes[..]].concat());
    until_output(&world, &id, "first\n");
    until_it_waits(&sender);
    assert!(is_alive(sender.id() as i32));
    let_go(&world);
    let ran = Ran::end_of(sender);
    assert_eq!(ran.code, 0, "{ran:?}");
    end_input(&world, &id);
    let output = String::from_utf8(world.output(&id)).unwrap();
    assert_eq!(output, format!("first\n{}", sum(&bytes)));
}

#[test]
fn a_job_that_never_reads_can_be_stopped() {
    let world = World::new();
    let id = reader(&world, "exec sleep 60");
    let mut killed = begin_send(&world, &id, &[], &letters(4 * ROOM));
    until_it_waits(&killed);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let waiting = begin_send(&world, &id, &[], &letters(2 * ROOM));
    until_it_waits(&waiting);
    let job = world.job(&["stop", &id, "--json"]);
    assert_eq!(job["exit_code"], 143, "{job}");
    assert_eq!(job["ended_by"], "stop", "{job}");
    assert_eq!(Ran::end_of(waiting).code, 125);
    assert_nothing_is_left(&world, &id);
}

/// Suspends the keeper while a client is in the middle of a write.
fn stop_while_it_hands_over(keeper: i32, sender: i32) {
    until("its connection is full", || {
        kill(keeper, STOP);
        until_stopped(keeper);
        let mut call = String::new();
        until("the client waits for the keeper", || {
            call = system_call_of(sender);
            [SENDTO, PPOLL].contains(&call.as_str())
        });
        if call != SENDTO {
            kill(keeper, CONT);
        }
        call == SENDTO
    });
}

/// A client was suspended while it sent its bytes (Ctrl-Z). Later it continues (`fg`).
#[test]
fn a_send_that_was_suspended_arrives_whole() {
    let world = World::new();
    let id = reader(&world, "exec sha256sum");
    let keeper = world.pair(&id).keeper;
    let bytes = noise(6_000_000);
    let mut sender = begin_send(&world, &id, &[], &bytes);
    let pid = sender.id() as i32;
    stop_while_it_hands_over(keeper, pid);
    kill(pid, STOP);
    until_stopped(pid);
    kill(pid, CONT);
    kill(keeper, CONT);
    until("it has sent everything", || {
        sender.try_wait().unwrap().is_some()
    });
    assert_eq!(Ran::end_of(sender).code, 0);
    end_input(&world, &id);
    assert_eq!(String::from_utf8(world.output(&id)).unwrap(), sum(&bytes));
}
