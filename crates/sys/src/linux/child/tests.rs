use super::*;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::thread;

/// A test is a thread of its own. What needs a process with one is in `tests/one_thread.rs`.
#[test]
fn a_process_with_more_threads_is_not_forked() {
    let refused = fork(|| 0).expect_err("there are more");
    assert!(refused.to_string().contains("threads"), "{refused}");
    assert!(crate::linux::own::take_handed_down().is_err());
}

/// A process at the gate, with no program to execute: it takes one message, says why, and goes.
fn fail(inside: &GateInside, failure: ExecFailure) {
    recv(&inside.0, &mut [0u8; 1][..], RecvFlags::empty()).expect("opened");
    send(&inside.0, &failure.encode(), SendFlags::NOSIGNAL).expect("somebody there");
}

const FAILURE: ExecFailure = ExecFailure {
    step: Step::Execute,
    errno: libc::ENOENT,
};

#[test]
fn every_holder_of_the_gate_learns_of_a_failure() {
    let (gate, inside) = gate().expect("a gate");
    gate.open();
    fail(&inside, FAILURE);
    drop(inside);
    for _ in 0..2 {
        assert_eq!(gate.outcome().expect("an answer"), Start::Failed(FAILURE));
    }
}

/// With a message left unread the kernel resets the connection before it gives the answer.
#[test]
fn a_failure_is_reported_even_if_the_gate_was_opened_twice() {
    let (gate, inside) = gate().expect("a gate");
    gate.open();
    gate.open();
    fail(&inside, FAILURE);
    drop(inside);
    assert_eq!(gate.outcome().expect("an answer"), Start::Failed(FAILURE));
}

#[test]
fn a_program_is_executed_even_if_the_gate_was_opened_twice() {
    let (gate, inside) = gate().expect("a gate");
    gate.open();
    gate.open();
    drop(inside);
    assert_eq!(gate.outcome().expect("an answer"), Start::Executed);
}

/// Whoever embeds this may set variables meanwhile. AddressSanitizer sees what is read behind the back
/// of the standard library's lock.
#[test]
fn variables_are_read_while_others_are_set() {
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..500 {
                // SAFETY: nothing in these tests reads the environment but through the standard library.
                unsafe { std::env::set_var(format!("OUTLIVE_TEST_{number}"), "value") };
            }
        });
        for _ in 0..500 {
            let all = environment().expect("no zero in a variable");
            assert!(all.iter().any(|one| one.to_bytes().starts_with(b"PATH=")));
        }
    });
}
