//! Jobs on a terminal of their own.

use super::Case;
use super::steps::{assert_ended, assert_output, run, start, until_printed};
use crate::checks::{exited, signaled};

pub const CASES: &[Case] = &[
    Case {
        name: "a_terminal_has_the_size_that_was_asked_for",
        promise: "--pty gives the job a terminal on all three descriptors; the default is 30x120",
        check: |world| {
            let script = "stty size; test -t 0 && test -t 1 && test -t 2 && exit 4";
            for (option, size) in [("--pty", "30 120"), ("--pty=24x80", "24 80")] {
                let (id, job) = run(world, &[option], script);
                assert_ended(&job, &exited(4), 4, "itself");
                assert_eq!(job["pty"], true, "{job}");
                assert_output(world, &id, format!("{size}\r\n").as_bytes());
            }
        },
    },
    Case {
        name: "a_terminal_can_be_resized",
        promise: "the program is told of its new size with SIGWINCH",
        check: |world| {
            let script = "trap 'stty size; exit 0' WINCH; echo up; while :; do sleep 0.05; done";
            let id = start(world, &["--pty"], script);
            until_printed(world, &id, "up");
            world.ok(&["resize", &id, "33x99"]);
            assert_eq!(world.wait(&id)["exit_code"], 0);
            until_printed(world, &id, "33 99\r\n");
        },
    },
    Case {
        name: "the_screen_is_what_a_person_would_see",
        promise: "log --screen applies what the program did to the terminal",
        check: |world| {
            let script =
                r"printf 'wrong\rright\n'; printf '\033[4;7Hhere'; echo; echo up; exec sleep 60";
            let id = start(world, &["--pty=10x40"], script);
            until_printed(world, &id, "up");
            let screen = world.json(&["log", &id, "--screen", "--json"]);
            assert_eq!(screen["text"], "right\n\n\n      here\nup", "{screen}");
            assert_eq!((&screen["rows"], &screen["cols"]), (&10.into(), &40.into()));
            assert_eq!(screen["cursor"]["row"], 5, "{screen}");
        },
    },
    Case {
        name: "what_is_typed_reaches_the_program",
        promise: "send types a line into a terminal",
        check: |world| {
            let script = "stty -echo; echo up; read -r line; echo \"read $line\"; exit 8";
            let id = start(world, &["--pty"], script);
            until_printed(world, &id, "up");
            world.ok(&["send", &id, "a line", "--enter"]);
            assert_ended(&world.wait(&id), &exited(8), 8, "itself");
            until_printed(world, &id, "read a line\r\n");
        },
    },
    Case {
        name: "control_c_interrupts_the_program_in_front",
        promise: "send --key C-c does what the key does on a terminal",
        check: |world| {
            let script = "echo up; exec sleep 60";
            let id = start(world, &["--pty"], script);
            until_printed(world, &id, "up");
            world.ok(&["send", &id, "--key", "C-c"]);
            let job = world.wait(&id);
            assert_eq!(job["outcome"], signaled("SIGINT"), "{job}");
            assert_eq!(job["exit_code"], 130, "{job}");
        },
    },
];
