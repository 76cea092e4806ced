//! Processes that do not read the job's input do not wait for it.

use super::{
    PIPE, PTY, assert_awaits, assert_does_not_await, shell, start, until_ready, wait_for_input,
};
use outlive_testkit::checks::until_output;
use outlive_testkit::scripts::{WAITS, let_go};
use outlive_testkit::world::World;

#[test]
fn a_process_that_computes_sleeps_or_waits_for_a_child_does_not_wait_for_input() {
    for kind in [PIPE, PTY] {
        for script in [
            "echo ready; while :; do :; done",
            "echo ready; exec sleep 60",
            "echo ready; sleep 60; :",
            "echo ready; sleep 60 & wait",
        ] {
            let world = World::new();
            let id = shell(&world, kind, script);
            until_ready(&world, &id);
            assert_does_not_await(&world, &id);
        }
    }
}

#[test]
fn a_printed_prompt_alone_does_not_count_as_waiting() {
    for kind in [PIPE, PTY] {
        let world = World::new();
        let id = shell(&world, kind, "printf 'ready\\nPassword: '; exec sleep 60");
        until_ready(&world, &id);
        assert_does_not_await(&world, &id);
    }
}

#[test]
fn a_process_that_reads_another_file_does_not_wait_for_input() {
    for kind in [PIPE, PTY] {
        for script in [
            "sleep 60 | (echo ready >&2; cat)",
            "mkfifo \"$GO.fifo\"; echo ready; exec cat <> \"$GO.fifo\"",
            "coproc sleep 60; echo ready; read x <&\"${COPROC[0]}\"",
        ] {
            let world = World::new();
            let id = shell(&world, kind, script);
            until_ready(&world, &id);
            assert_does_not_await(&world, &id);
        }
    }
}

#[test]
fn a_process_that_polls_other_descriptors_does_not_wait_for_input() {
    needs!(Python);
    let world = World::new();
    let program = "import select, os, sys
r, w = os.pipe()
print('ready', flush=True)
p = select.epoll()
p.register(r, select.EPOLLIN)
p.register(1, 0)
p.poll()";
    let id = start(&world, PIPE, &["python3", "-c", program]);
    until_ready(&world, &id);
    assert_does_not_await(&world, &id);
}

#[test]
fn a_job_without_input_never_waits_for_it() {
    let world = World::new();
    let id = world.ok(&["run", "--", "sleep", "60"]);
    assert_does_not_await(&world, &id);
}

#[test]
fn a_job_with_unread_input_does_not_wait_for_input() {
    let world = World::new();
    let id = shell(&world, PIPE, &format!("read x; {WAITS}exec cat"));
    assert_awaits(&world, &id, "data");
    world.ok(&["send", &id, "a\nb\n"]);
    assert_does_not_await(&world, &id);
    let_go(&world);
    until_output(&world, &id, "b\n");
    assert_awaits(&world, &id, "data");
}

/// Each time, the job answers the input before Outlive reports that it waits for more.
fn each_answer_comes_before_the_next_wait(kind: &[&str]) {
    let world = World::new();
    // The job computes longer for each line, so that the keeper checks it at many different moments.
    let script = "stty -echo 2>/dev/null
        while read x; do for ((i = 0; i < x * 200; i++)); do :; done; echo \"done $x.\"; done";
    let id = shell(&world, kind, script);
    assert_eq!(wait_for_input(&world, &id).code, 0);
    for n in 1..=60 {
        world.ok(&["send", &id, &n.to_string(), "--enter"]);
        assert_eq!(wait_for_input(&world, &id).code, 0);
        let output = String::from_utf8(world.output(&id)).unwrap();
        assert!(output.contains(&format!("done {n}.")), "{n}: {output:?}");
    }
}

#[test]
fn a_pipe_job_waits_for_input_only_after_it_has_read_what_was_sent() {
    each_answer_comes_before_the_next_wait(PIPE);
}

#[test]
fn a_terminal_job_waits_for_input_only_after_it_has_read_what_was_sent() {
    each_answer_comes_before_the_next_wait(PTY);
}

/// A process reads from a terminal that it created itself. That is not the job's terminal, whatever its name.
#[test]
fn a_process_that_reads_another_terminal_does_not_wait_for_input() {
    needs!(Python);
    for name in ["/dev/tty", "/dev/stdin"] {
        let world = World::new();
        let program = format!(
            "import pty, time
pid, fd = pty.fork()
if pid == 0: open('{name}').read()
print('ready', flush=True)
time.sleep(60)"
        );
        let id = start(&world, PTY, &["python3", "-c", &program]);
        until_ready(&world, &id);
        assert_does_not_await(&world, &id);
    }
}
