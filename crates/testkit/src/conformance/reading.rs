//! Reading an output in parts: pages, cursors, searching, following.

use super::Case;
use super::steps::{end_of, let_go, run, start, until_printed, wait_for_go};
use crate::world::World;
use serde_json::Value;

pub const CASES: &[Case] = &[
    Case {
        name: "pages_by_line_are_exact",
        promise: "log --offset and --lines show exactly those lines, and say which",
        check: |world| {
            let (id, _) = run(world, &[], "seq 1 30000");
            let page = world.json(&["log", &id, "--json", "--offset", "12345", "--lines", "3"]);
            assert_eq!(page["text"], "12345\n12346\n12347\n");
            assert_eq!(page["from_line"], 12_345);
            assert_eq!(page["to_line"], 12_347);
            assert_eq!(page["total_lines"], 30_000);
            let last = world.ok(&["log", &id, "--lines", "2"]);
            assert_eq!(last, "29999\n30000");
            assert_eq!(world.ok(&["log", &id]).lines().count(), 200);
        },
    },
    Case {
        name: "pages_by_byte_are_exact",
        promise: "log --bytes FROM:TO shows exactly those bytes",
        check: |world| {
            let (id, _) = run(world, &[], "printf 'abcdefghij'");
            let bytes = |range: &str| world.outlive(&["log", &id, "--raw", "--bytes", range]);
            assert_eq!(bytes("0:").stdout, "abcdefghij");
            assert_eq!(bytes("3:6").stdout, "def");
            assert_eq!(bytes("8:").stdout, "ij");
            assert_eq!(bytes("10:").stdout, "");
        },
    },
    Case {
        name: "a_cursor_continues_where_the_last_page_ended",
        promise: "reading with cursors shows every byte once, while the job writes and after",
        check: cursors,
    },
    Case {
        name: "grep_finds_every_matching_line",
        promise: "log --grep shows the lines that match, in order, and no other",
        check: |world| {
            let (id, _) = run(world, &[], "seq 1 5000");
            let matching = (1..=5000).map(|n| n.to_string());
            let matching: Vec<String> = matching.filter(|line| line.ends_with("77")).collect();
            let found = world.ok(&["log", &id, "--grep", "77$"]);
            assert_eq!(found.lines().collect::<Vec<_>>(), matching);
            let last = world.ok(&["log", &id, "--grep", "77$", "--lines", "2"]);
            assert_eq!(last, "4877\n4977");
            assert_eq!(world.ok(&["log", &id, "--grep", "nothing like this"]), "");
        },
    },
    Case {
        name: "following_prints_the_output_until_the_job_ends",
        promise: "log --follow prints every line once, and returns when the job has ended",
        check: |world| {
            let script = format!("seq 1 1000; {}; seq 1001 20000", wait_for_go(world));
            let id = start(world, &[], &script);
            let follower = world.begin(&["log", &id, "--follow", "--lines", "1000"]);
            until_printed(world, &id, "1000\n");
            let_go(world);
            let ran = end_of(follower);
            assert_eq!(ran.code, 0, "{ran:?}");
            let (first, last) = (ran.stdout.lines().next(), ran.stdout.lines().last());
            assert_eq!(last, Some("20000"));
            let first: u32 = first.unwrap().parse().unwrap();
            let lines = (first..=20_000).map(|n| format!("{n}\n"));
            assert!(first <= 1001 && ran.stdout == lines.collect::<String>());
        },
    },
];

fn cursors(world: &World) {
    let script = format!("seq 1 10000; {}; seq 10001 20000", wait_for_go(world));
    let id = start(world, &[], &script);
    let (mut text, mut cursor) = (String::new(), "b0".to_owned());
    let mut read = || {
        let page = world.json(&["log", &id, "--json", "--cursor", &cursor]);
        cursor = page["next_cursor"].as_str().unwrap().to_owned();
        let new = page["text"].as_str().unwrap();
        text.push_str(new);
        (new.len(), text.ends_with("\n10000\n"))
    };
    crate::waiting::until("the first half was read", || read().1);
    assert_eq!(read().0, 0, "nothing is new");
    let_go(world);
    let job: Value = world.wait(&id);
    assert_eq!(job["exit_code"], 0, "{job}");
    while read().0 > 0 {}
    let expected = crate::scripts::numbers(20_000);
    crate::checks::assert_same_bytes("all pages", text.as_bytes(), &expected);
}
