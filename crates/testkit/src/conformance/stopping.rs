//! Ending a job: `stop`, `signal`, a timeout, and processes that the command leaves behind.

use super::Case;
use super::steps::{
    assert_ended, assert_output, file, let_go, run, runs, start, until_printed, wait_for_go,
    written,
};
use crate::checks::{exited, signaled};
use crate::processes::KILL;
use crate::waiting::until;
use crate::world::World;

pub const CASES: &[Case] = &[
    Case {
        name: "stop_ends_the_whole_tree",
        promise: "stop reaches children, processes in a session of their own, and orphans",
        check: |world| {
            whole_tree(world, |_, _| {});
        },
    },
    Case {
        name: "stop_ends_the_whole_tree_of_an_adopted_job",
        promise: "the same after both keepers were killed and its orphans have another parent",
        check: |world| {
            whole_tree(world, World::kill_both);
        },
    },
    Case {
        name: "stop_gives_a_program_time_to_end",
        promise: "stop sends TERM first; a program that handles it ends with its own exit code",
        check: |world| {
            let script =
                "trap 'echo saved; exit 7' TERM; echo up; while :; do sleep 60 & wait; done";
            let id = start(world, &[], script);
            until_printed(world, &id, "up\n");
            let job = world.job(&["stop", &id, "--grace", "20s", "--json"]);
            assert_ended(&job, &exited(7), 7, "stop");
            assert_output(world, &id, b"up\nsaved\n");
        },
    },
    Case {
        name: "a_program_that_ignores_term_is_killed_after_the_grace",
        promise: "stop sends KILL when the grace has passed, and not before",
        check: |world| {
            let id = start(
                world,
                &[],
                "trap '' TERM; echo up; while :; do sleep 0.05; done",
            );
            until_printed(world, &id, "up\n");
            let job = world.job(&["stop", &id, "--grace", "700ms", "--json"]);
            assert_ended(&job, &signaled("SIGKILL"), 137, "stop");
            assert!(job["duration_ms"].as_u64().unwrap() >= 700, "{job}");
            world.until_nothing_runs();
        },
    },
    Case {
        name: "stopping_what_has_ended_is_no_error",
        promise: "stop can be repeated, and changes no outcome",
        check: |world| {
            let (id, job) = run(world, &[], "exit 3");
            world.ok(&["stop", &id]);
            world.ok(&["stop", &id]);
            assert_eq!(world.show(&id)["outcome"], job["outcome"]);
            assert_eq!(world.show(&id)["ended_by"], "itself");
        },
    },
    Case {
        name: "a_signal_reaches_the_job",
        promise: "signal sends exactly that signal, and the job may go on",
        check: |world| {
            let wait = wait_for_go(world);
            let script = format!("trap 'echo got USR1' USR1; echo up; {wait}");
            let id = start(world, &[], &script);
            until_printed(world, &id, "up\n");
            // The signal also ends the `sleep` that the shell waits for. The shell then starts another.
            world.ok(&["signal", &id, "USR1"]);
            until_printed(world, &id, "got USR1\n");
            assert_eq!(world.show(&id)["state"], "running");
            let_go(world);
            assert_eq!(world.wait(&id)["outcome"], exited(0));
        },
    },
    Case {
        name: "a_job_that_takes_too_long_is_stopped",
        promise: "--timeout ends the job as stop does, and says so",
        check: |world| {
            let (id, job) = run(world, &["--timeout", "300ms"], "echo up; exec sleep 60");
            assert_ended(&job, &signaled("SIGTERM"), 143, "timeout");
            assert!(job["duration_ms"].as_u64().unwrap() >= 300, "{job}");
            assert_output(world, &id, b"up\n");
        },
    },
    Case {
        name: "what_outlives_its_command_is_counted",
        promise: "a background process of an ended job is reported as lingering, until it ends",
        check: lingering,
    },
    Case {
        name: "what_outlives_its_command_can_be_stopped_with_it",
        promise: "--leftovers stop ends every process of the job when its command has ended",
        check: |world| {
            let script = format!("sleep 60 & echo $! > {}; exit 2", file(world, "left"));
            let (_, job) = run(world, &["--leftovers", "stop"], &script);
            assert_ended(&job, &exited(2), 2, "itself");
            let left = written(world, "left");
            until("the leftover is gone", || !runs(world, left));
        },
    },
];

/// Starts a job with a process tree, disturbs it, and stops it.
fn whole_tree(world: &World, disturb: fn(&World, &str)) {
    let name = |word: &str| world.path_there(word).display().to_string();
    let script = format!(
        "sh -c 'echo $$ > {child}; exec sleep 60' & \
         setsid sh -c 'echo $$ > {session}; exec sleep 60' & \
         (setsid sh -c 'echo $$ > {orphan}; exec sleep 60' &) ; \
         (sh -c 'trap \"\" TERM; echo $$ > {deaf}; while :; do sleep 0.05; done' &) ; \
         echo up; exec sleep 60",
        child = name("child"),
        session = name("session"),
        orphan = name("orphan"),
        deaf = name("deaf"),
    );
    let id = start(world, &[], &script);
    let tree: [i32; 4] = ["child", "session", "orphan", "deaf"].map(|name| written(world, name));
    assert!(tree.iter().all(|pid| runs(world, *pid)));
    until_printed(world, &id, "up\n");
    disturb(world, &id);
    let job = world.job(&["stop", &id, "--grace", "500ms", "--json"]);
    assert_ended(&job, &signaled("SIGTERM"), 143, "stop");
    until("every process of the tree is gone", || {
        !tree.iter().any(|pid| runs(world, *pid))
    });
    world.until_nothing_runs();
}

fn lingering(world: &World) {
    let script = format!(
        "sleep 60 & echo $! > {}; echo up; exit 3",
        file(world, "left")
    );
    let (id, job) = run(world, &[], &script);
    assert_ended(&job, &exited(3), 3, "itself");
    let left = world.place().process(written(world, "left")).unwrap();
    assert_eq!(world.show(&id)["lingering"], 1);
    world.place().signal(left, KILL);
    until("nothing lingers", || world.show(&id)["lingering"] == 0);
    assert!(!runs(world, left.pid));
    assert_output(world, &id, b"up\n");
    world.until_nothing_runs();
}
