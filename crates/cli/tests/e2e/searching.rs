//! `log --grep`.

use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// `--grep` prints every match in order; with `--lines`, only the last ones.
#[test]
fn grep_shows_every_match_unless_lines_limits_them() {
    let world = World::new();
    let id = world.shell("seq 1 5000");
    world.wait(&id);
    let grep = |options: &[&str]| {
        let args = [&["log", &id, "--grep", "7"], options].concat();
        let shown = world.outlive(&args).stdout;
        shown.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all: Vec<String> = (1..=5000)
        .map(|number: u32| number.to_string())
        .filter(|line| line.contains('7'))
        .collect();
    assert!(all.len() > 200);
    assert_eq!(grep(&[]), all);
    assert_eq!(grep(&["--lines", "3"]), all[all.len() - 3..]);
    assert_eq!(grep(&["--lines", "0"]), [""; 0]);
    assert_eq!(grep(&["--redact"]), all);
    let from = |line: &str| all.iter().position(|other| other == line).unwrap();
    assert_eq!(grep(&["--offset", "4970"]), all[from("4970")..]);
    assert_eq!(grep(&["--cursor", "b0", "--raw"]), all);
    let json = grep(&["--json", "--lines", "1"]);
    let last: Value = serde_json::from_str(&json[0]).unwrap();
    assert_eq!(
        (&last["line"], &last["text"]),
        (&4997.into(), &"4997".into())
    );
}

/// A match is printed before the rest of the output is read.
#[test]
fn a_match_is_printed_when_it_is_found() {
    let world = World::new();
    let id = world.shell("echo needle; seq 1 300000; echo needle");
    world.wait(&id);
    let trace = world.path("trace");
    let args = ["log", &id, "--grep", "needle"];
    let outlive = world.command(args);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-e", "trace=pread64,write", "-o"])
        .arg(&trace)
        .arg(outlive.get_program())
        .args(args)
        .env("OUTLIVE_HOME", world.home());
    assert_eq!(Ran::of(&mut strace).stdout, "needle\nneedle\n");
    let trace = fs::read_to_string(trace).unwrap();
    let calls: Vec<&str> = trace.lines().collect();
    let printed = calls
        .iter()
        .position(|call| call.contains("write(1, \"needle"));
    let read = calls.iter().rposition(|call| call.contains("pread64("));
    assert!(printed.unwrap() < read.unwrap(), "{trace}");
}

/// The search ends without an error when its reader goes away, as in `outlive log ID --grep RE | head -1`.
#[test]
fn a_search_ends_quietly_when_nobody_reads_on() {
    let world = World::new();
    let id = world.shell("seq 1 300000");
    world.wait(&id);
    let mut child = world
        .command(["log", &id, "--grep", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    drop(reader);
    let ran = Ran::end_of(child);
    assert_eq!(
        (first.as_str(), ran.code, ran.stderr.as_str()),
        ("1\n", 0, "")
    );
}

/// On a terminal, lines end with `\r\n` and programs add colours. A pattern sees the line as it is shown.
#[test]
fn a_line_is_matched_to_the_end_that_is_shown() {
    let world = World::new();
    let id = world.ok(&[
        "run",
        "--",
        "printf",
        r"one\r\n\033[1mtwo\033[m\033[K\r\n50%%\rdone\n\033[0m",
    ]);
    world.wait(&id);
    let grep = |pattern: &str| world.outlive(&["log", &id, "--grep", pattern]).stdout;
    assert_eq!(grep("^(one|two|done)$"), "one\ntwo\ndone\n");
    assert_eq!(grep("\r|m|%"), "");
    let line: Value = world.json(&["log", &id, "--grep", "done", "--json"]);
    assert_eq!((&line["line"], &line["from_byte"]), (&3.into(), &20.into()));
    // Nothing follows the last newline, so there is no fourth line.
    assert_eq!(grep("").lines().count(), 3);
}

/// The dropped middle starts and ends inside a line. The lines after it keep their numbers.
#[test]
fn matches_after_a_dropped_middle_keep_their_line_numbers() {
    let world = World::new();
    let script = "seq -f 'line %06.0f' 20000";
    let id = world.ok(&["run", "--max-output", "128K", "--shell", script]);
    world.wait(&id);
    let dropped = world.show(&id)["output"]["dropped_bytes"].as_u64().unwrap();
    assert!(dropped > 0 && !dropped.is_multiple_of(12), "a line is cut");
    for number in [17_u64, 19_990] {
        let pattern = format!("^line {number:06}$");
        let line: Value = world.json(&["log", &id, "--grep", &pattern, "--json"]);
        assert_eq!(
            (&line["line"], &line["from_byte"]),
            (&number.into(), &((number - 1) * 12).into())
        );
    }
}
