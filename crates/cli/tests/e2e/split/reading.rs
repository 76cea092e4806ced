//! What `log` and the other readers print of a job whose streams are told apart.

use super::{SAID, ended, start, stream, text};
use outlive_testkit::checks::{assert_nothing_is_left, until_output};
use outlive_testkit::ran::Ran;
use outlive_testkit::scripts::let_go;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Writes six lines in turn, each when the one before was taken. The last line of stdout has stderr in its middle.
const TALK: &str = "echo out 1; said 6; echo err 1 >&2; said 12; printf 'out '; said 16; echo err 2 >&2; said 22; \
                    echo 2; said 24; printf end >&2";

fn talk(world: &World) -> String {
    ended(world, &[], &format!("{SAID}{TALK}"))
}

fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_output_has_both_streams_in_the_order_of_arrival() {
    let world = World::new();
    let id = talk(&world);
    let all = "out 1\nerr 1\nout err 2\n2\nend";
    assert_eq!(world.output(&id), all.as_bytes());
    assert_eq!(text(&world, &["log", &id]), all);
    assert_eq!(stream(&world, &id, "--stdout"), b"out 1\nout 2\n");
    assert_eq!(stream(&world, &id, "--stderr"), b"err 1\nerr 2\nend");
    assert_eq!(text(&world, &["log", &id, "--stdout"]), "out 1\nout 2\n");
    assert_eq!(text(&world, &["log", &id, "--stderr"]), "err 1\nerr 2\nend");
    assert_eq!(world.show(&id)["streams"], "split");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn pages_of_a_stream_count_as_the_whole_output_does() {
    let world = World::new();
    let id = talk(&world);
    let page =
        |stream: &str, options: &[&str]| text(&world, &[&["log", &id, stream], options].concat());
    assert_eq!(page("--stdout", &["-n", "1"]), "out 2\n");
    assert_eq!(page("--stderr", &["-n", "1"]), "end");
    assert_eq!(page("--stderr", &["-n", "2"]), "err 2\nend");
    assert_eq!(page("--stdout", &["-n", "0"]), "");
    assert_eq!(page("--stdout", &["--offset", "1", "-n", "1"]), "out 1\n");
    assert_eq!(page("--stdout", &["--offset", "2"]), "out 2\n");
    assert_eq!(page("--stderr", &["--offset", "3", "-n", "1"]), "err 2\n");
    assert_eq!(page("--stderr", &["--bytes", "8:18"]), "r 1\ner");
    assert_eq!(page("--stdout", &["--bytes", "8:18"]), "out ");
    assert_eq!(page("--stdout", &["--grep", "^out 2$"]), "out 2\n");
    assert_eq!(page("--stderr", &["--grep", "out"]), "");
    assert_eq!(page("--stderr", &["--grep", "r", "-n", "1"]), "err 2\n");
    assert_eq!(page("--stdout", &["--since", "1h"]), "out 1\nout 2\n");
    assert_eq!(page("--stdout", &["--since", "1h", "-n", "1"]), "out 2\n");
    assert_eq!(page("--stderr", &["--redact"]), "err 1\nerr 2\nend");
    assert_eq!(page("--stderr", &["--follow"]), "err 1\nerr 2\nend");
    let times = page("--stderr", &["--timestamps"]);
    let words: Vec<_> = times
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(words, ["err 1", "err 2", "end"]);
}

#[test]
fn json_says_the_stream_of_a_line_or_piece() {
    let world = World::new();
    let id = talk(&world);
    let of = |found: &[Value]| -> Vec<(Value, Value)> {
        let of = |line: &Value| (line["stream"].clone(), line["text"].clone());
        found.iter().map(of).collect()
    };
    let log = |options: &[&str]| text(&world, &[&["log", &id, "--json"], options].concat());
    let found = json_lines(&log(&["--grep", "."]));
    let numbers: Vec<&Value> = found.iter().map(|line| &line["line"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let expected = [
        ("stdout", "out 1"),
        ("stderr", "err 1"),
        ("stdout", "out err 2"),
        ("stdout", "2"),
        ("stderr", "end"),
    ];
    assert_eq!(of(&found), expected.map(|(a, b)| (json!(a), json!(b))));
    let found = json_lines(&log(&["--stdout", "--grep", "."]));
    assert_eq!(of(&found)[1], (json!("stdout"), json!("out 2")));
    // It begins in the third line of the whole output.
    assert_eq!(
        (&found[1]["line"], &found[1]["from_byte"]),
        (&json!(3), &json!(12))
    );
    let followed = json_lines(&log(&["--follow", "--raw", "--bytes", "0"]));
    assert_eq!(of(&followed)[2], (json!("stdout"), json!("out ")));
    let followed = json_lines(&log(&["--follow", "--bytes", "0"]));
    assert_eq!(followed.len(), 6, "{followed:?}");
    let page: Value = serde_json::from_str(&log(&["--stderr"])).unwrap();
    assert_eq!(
        (&page["stream"], &page["text"]),
        (&json!("stderr"), &json!("err 1\nerr 2\nend"))
    );
    assert_eq!(
        (&page["total_lines"], &page["total_bytes"]),
        (&json!(5), &json!(27))
    );
    let page: Value = serde_json::from_str(&log(&[])).unwrap();
    assert_eq!(page.get("stream"), None, "both: {page}");
}

#[test]
fn a_cursor_reads_on_in_one_stream_and_in_the_other() {
    let world = World::new();
    let script = format!(
        "{SAID}echo out 1; said 6; echo err 1 >&2; until [ -e \"$GO\" ]; do sleep 0.01; done; {}",
        "echo out 2; said 18; echo err 2 >&2"
    );
    let id = start(&world, &[], &script);
    until_output(&world, &id, "out 1\nerr 1\n");
    let page = world.json(&["log", &id, "--stderr", "--json"]);
    assert_eq!(page["text"], "err 1\n");
    let cursor = page["next_cursor"].as_str().unwrap().to_owned();
    let after = |stream: &str| text(&world, &["log", &id, stream, "--cursor", &cursor]);
    assert_eq!(
        (after("--stderr"), after("--stdout")),
        (String::new(), String::new())
    );
    let_go(&world);
    world.wait(&id);
    assert_eq!(
        (after("--stderr").as_str(), after("--stdout").as_str()),
        ("err 2\n", "out 2\n")
    );
}

#[test]
fn one_stream_is_followed_until_the_job_ends() {
    let world = World::new();
    let script = format!("{SAID}until [ -e \"$GO\" ]; do sleep 0.01; done; {TALK}");
    let id = start(&world, &[], &script);
    let stdout = world.begin(&["log", &id, "--stdout", "--follow"]);
    let stderr = world.begin(&["log", &id, "--stderr", "--follow", "--raw"]);
    let_go(&world);
    let end = |child: std::process::Child| Ran::from(child.wait_with_output().unwrap());
    assert_eq!(end(stdout).stdout, "out 1\nout 2\n");
    assert_eq!(end(stderr).stdout, "err 1\nerr 2\nend");
}

#[test]
fn long_lines_and_many_switches_are_read_from_both_ends() {
    let world = World::new();
    // Each line is as long as a write of it, so that the streams change often.
    let script = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo o$i; echo e$i >&2; done";
    let id = ended(&world, &[], script);
    assert_eq!(stream(&world, &id, "--stdout"), super::lines('o', 3000));
    assert_eq!(stream(&world, &id, "--stderr"), super::lines('e', 3000));
    let last = text(&world, &["log", &id, "--stderr", "-n", "3"]);
    assert_eq!(last, "e2998\ne2999\ne3000\n");
    let found = text(&world, &["log", &id, "--stdout", "--grep", "777$"]);
    assert_eq!(found, "o777\no1777\no2777\n");
}

#[test]
fn a_job_without_output_has_two_empty_streams() {
    let world = World::new();
    let id = ended(&world, &[], "exit 3");
    assert_eq!(text(&world, &["log", &id, "--stdout"]), "");
    assert_eq!(text(&world, &["log", &id, "--stderr", "--follow"]), "");
    assert_nothing_is_left(&world, &id);
}

#[test]
fn what_cannot_be_split_is_refused_with_a_reason() {
    let world = World::new();
    let ran = world.outlive(&["run", "--streams", "split", "--pty", "--", "true"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("start it without a terminal"),
        "{ran:?}"
    );
    let merged = world.shell("echo out; echo err >&2");
    world.wait(&merged);
    let ran = world.outlive(&["log", &merged, "--stderr"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains("--streams split"), "{ran:?}");
    assert_eq!(world.show(&merged).get("streams"), None);
    assert!(!world.job_dir(&merged).join("streams").exists());
}

#[test]
fn streams_that_are_not_known_are_not_guessed() {
    let world = World::new();
    let id = talk(&world);
    std::fs::remove_file(world.job_dir(&id).join("streams")).unwrap();
    let ran = world.outlive(&["log", &id, "--stderr"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (125, ""), "{ran:?}");
    assert!(ran.stderr.contains("missing or damaged"), "{ran:?}");
    assert_eq!(
        text(&world, &["log", &id]),
        "out 1\nerr 1\nout err 2\n2\nend"
    );
}
