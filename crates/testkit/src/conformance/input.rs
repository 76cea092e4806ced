//! Standard input: none, or what is sent.

use super::Case;
use super::steps::{assert_ended, assert_output, run, start, until_printed};
use crate::checks::exited;
use crate::ran::Ran;
use crate::scripts::numbers;
use std::fs::{self, File};

pub const CASES: &[Case] = &[
    Case {
        name: "without_input_a_program_reads_the_end_of_file",
        promise: "a job does not wait for input that never comes",
        check: |world| {
            let (id, job) = run(world, &[], "cat; echo end; exit 3");
            assert_ended(&job, &exited(3), 3, "itself");
            assert_output(world, &id, b"end\n");
        },
    },
    Case {
        name: "what_is_sent_arrives_in_order_and_eof_ends_it",
        promise: "send writes text to the standard input; --enter adds a newline; --eof ends it",
        check: |world| {
            let id = start(world, &["--stdin", "pipe"], "cat; exit 6");
            world.ok(&["send", &id, "one "]);
            world.ok(&["send", &id, "two", "--enter"]);
            until_printed(world, &id, "one two\n");
            assert_eq!(world.show(&id)["state"], "running");
            world.ok(&["send", &id, "last", "--eof"]);
            assert_ended(&world.wait(&id), &exited(6), 6, "itself");
            assert_output(world, &id, b"one two\nlast");
        },
    },
    Case {
        name: "a_large_input_arrives_whole",
        promise: "more input than a pipe holds arrives byte for byte",
        check: |world| {
            let id = start(world, &["--stdin", "pipe"], "sleep 0.2; exec cat");
            let input = numbers(200_000);
            let file = world.path("input");
            fs::write(&file, &input).unwrap();
            let mut send = world.command(["send", &id, "-", "--eof"]);
            let ran = Ran::of(send.stdin(File::open(file).unwrap()));
            assert_eq!(ran.code, 0, "{ran:?}");
            assert_eq!(world.wait(&id)["exit_code"], 0);
            assert_output(world, &id, &input);
        },
    },
    Case {
        name: "a_repeated_send_with_a_write_id_arrives_once",
        promise: "a send whose answer was lost can be repeated",
        check: |world| {
            let id = start(world, &["--stdin", "pipe"], "cat");
            for _ in 0..3 {
                world.ok(&["send", &id, "once", "--enter", "--write-id", "w1"]);
            }
            world.ok(&["send", &id, "--eof"]);
            assert_eq!(world.wait(&id)["exit_code"], 0);
            assert_output(world, &id, b"once\n");
        },
    },
    Case {
        name: "a_job_that_has_ended_takes_no_input",
        promise: "a send to an ended job fails and says so",
        check: |world| {
            let (id, _) = run(world, &["--stdin", "pipe"], "true");
            let ran = world.outlive(&["send", &id, "late"]);
            assert_eq!(ran.code, 125, "{ran:?}");
            assert!(!ran.stderr.is_empty(), "{ran:?}");
        },
    },
];
