//! What a job writes is kept: every byte, in order, up to the limit it was given.

use super::Case;
use super::steps::{assert_output, output, run};
use crate::checks::assert_same_bytes;
use crate::scripts::numbers;
use crate::world::World;
use serde_json::Value;

pub const CASES: &[Case] = &[
    Case {
        name: "a_large_output_is_kept_byte_for_byte",
        promise: "no byte of an output below the limit is lost, changed or doubled",
        check: |world| {
            let (id, job) = run(world, &[], "seq 1 500000");
            assert_eq!(job["exit_code"], 0, "{job}");
            assert_output(world, &id, &numbers(500_000));
        },
    },
    Case {
        name: "every_byte_value_survives",
        promise: "the output may be binary",
        check: |world| {
            let script =
                r#"i=0; while [ $i -lt 256 ]; do printf "\\$(printf %03o $i)"; i=$((i+1)); done"#;
            let (id, _) = run(world, &[], script);
            let all: Vec<u8> = (0..=255).collect();
            assert_output(world, &id, &all);
        },
    },
    Case {
        name: "stdout_and_stderr_are_merged_in_the_order_they_were_written",
        promise: "the output reads as on a terminal",
        check: |world| {
            let script = "for i in $(seq 1 500); do echo out $i; echo err $i >&2; done";
            let (id, _) = run(world, &[], script);
            let lines = (1..=500).map(|n| format!("out {n}\nerr {n}\n"));
            assert_output(world, &id, lines.collect::<String>().as_bytes());
        },
    },
    Case {
        name: "stdout_and_stderr_can_be_told_apart",
        promise: "with `--streams split` each of the two is exact",
        check: |world| {
            let script = "for i in $(seq 1 500); do echo out $i; echo err $i >&2; done";
            let (id, job) = run(world, &["--streams", "split"], script);
            assert_eq!(job["output"]["bytes"], 2 * 3892, "{job}");
            for word in ["out", "err"] {
                let option = format!("--std{word}");
                let found = world.outlive(&["log", &id, &option, "--raw", "--bytes", "0"]);
                let lines = (1..=500).map(|n| format!("{word} {n}\n"));
                assert_same_bytes(word, &found.bytes, lines.collect::<String>().as_bytes());
            }
        },
    },
    Case {
        name: "an_unfinished_last_line_is_kept",
        promise: "output that does not end in a newline is kept as it is",
        check: |world| {
            let (id, _) = run(world, &[], "printf 'one\\ntwo'");
            assert_output(world, &id, b"one\ntwo");
        },
    },
    Case {
        name: "a_job_may_print_nothing",
        promise: "a job without output has an output of 0 bytes",
        check: |world| {
            let (id, _) = run(world, &[], "true");
            assert_output(world, &id, b"");
        },
    },
    Case {
        name: "output_is_there_while_the_job_runs",
        promise: "what was written can be read before the job ends",
        check: |world| {
            let id = super::steps::start(world, &[], "echo first; exec sleep 60");
            super::steps::until_printed(world, &id, "first\n");
            assert_eq!(world.show(&id)["state"], "running");
        },
    },
    Case {
        name: "a_limited_output_keeps_its_beginning_and_its_end",
        promise: "what is dropped is reported, and everything else is exact",
        check: limited,
    },
    Case {
        name: "a_credential_can_be_left_out",
        promise: "log --redact does not print what looks like a credential, and the rest is unchanged",
        check: |world| {
            let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
            let script = format!("echo before; echo token {secret}; echo after");
            let (id, _) = run(world, &[], &script);
            let redacted = world.ok(&["log", &id, "--redact"]);
            assert!(!redacted.contains(secret), "{redacted}");
            let lines: Vec<&str> = redacted.lines().collect();
            assert_eq!((lines[0], lines[2]), ("before", "after"), "{redacted}");
            assert!(lines[1].contains("redacted"), "{redacted}");
            let plain = world.ok(&["log", &id]);
            assert_eq!(plain, format!("before\ntoken {secret}\nafter"));
        },
    },
];

fn limited(world: &World) {
    let (id, job) = run(world, &["--max-output", "64K"], "seq 1 100000");
    let expected = numbers(100_000);
    let said = &job["output"];
    assert_eq!(said["bytes"], expected.len(), "{said}");
    assert_eq!(said["complete"], true, "{said}");
    let log = world.json(&["log", &id, "--json", "--lines", "1"]);
    let edge = |at: usize| log["dropped_ranges"][0][at].as_u64().unwrap() as usize;
    let (from, to) = (edge(0), edge(1));
    assert_eq!(log["dropped_ranges"].as_array().map(Vec::len), Some(1));
    assert_eq!(said["dropped_bytes"], to - from, "{said}");
    assert_eq!(said["dropped_bytes"], log["dropped_bytes"]);
    let kept = expected.len() - (to - from);
    // The file is freed in whole blocks, so a little more may be kept.
    assert!((48 << 10..=80 << 10).contains(&kept), "{kept} were kept");
    let raw = output(world, &id);
    let exact = [&expected[..from], &expected[to..]].concat();
    assert_same_bytes("what was kept", &raw, &exact);
    let shown = world.outlive(&["log", &id]);
    assert!(shown.stderr.contains("not kept"), "{shown:?}");
    assert_ne!(said["dropped_bytes"], Value::from(0));
}
