//! Lines and pages of an output whose middle was dropped.

use super::ground::Ground;
use super::{MIB, bounded, expected, line, lines};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::process::Command;

#[test]
fn lines_keep_their_numbers_when_the_middle_is_gone() {
    needs!(Strace);
    for ground in [Ground::Here, Ground::HereWithoutHoles] {
        let place = ground.world("");
        place.start("x", "1M", &lines(1_000_000));
        place.world.wait("x");
        assert_lines_keep_their_numbers(&place.world);
    }
}

fn assert_lines_keep_their_numbers(world: &World) {
    let page = |from: u64| {
        world.json(&[
            "log",
            "x",
            "--offset",
            &from.to_string(),
            "--lines",
            "2",
            "--json",
        ])
    };
    for from in [1, 17, 16_000, 999_998, 999_999] {
        let log = page(from);
        assert_eq!(
            log["text"],
            format!("{}{}", line(from - 1), line(from)),
            "{log}"
        );
        assert_eq!(
            (&log["from_line"], &log["to_line"]),
            (&json!(from), &json!(from + 1))
        );
    }
    // The first line of the page was dropped. The page has a note about that and the first line that was kept.
    let log = page(500_000);
    let first = log["from_line"].as_u64().unwrap();
    assert_eq!(log["from_byte"], log["dropped_ranges"][0][1]);
    let text = log["text"].as_str().unwrap();
    let (_, there) = text.split_once(" not kept here …]\n").expect(text);
    assert_eq!(there, line(first - 1) + &line(first));
    assert_eq!(page(2_000_000)["text"], "");
}

#[test]
fn the_log_says_where_output_is_missing() {
    needs!(Strace);
    for ground in [Ground::Here, Ground::HereWithoutHoles] {
        let place = ground.world("");
        place.start("x", "128K", &lines(20_000));
        place.world.wait("x");
        assert_missing_is_said(&place.world);
    }
}

fn assert_missing_is_said(world: &World) {
    let whole = world.outlive(&["log", "x", "--bytes", "0"]);
    let [before, after] = whole.stdout.split("\n[… ").collect::<Vec<_>>()[..] else {
        panic!("one mark: {} bytes", whole.stdout.len());
    };
    assert_eq!(before.as_bytes(), &expected(0..2048)[..]);
    assert!(
        after.contains(" of output were not kept here …]\n"),
        "{}",
        &after[..80]
    );
    assert!(after.ends_with(&line(19_999)));
    assert!(whole.stderr.contains("was not kept"), "{}", whole.stderr);
    let raw = world.outlive(&["log", "x", "--bytes", "0", "--raw"]);
    assert_eq!(
        raw.stdout.len() as u64,
        20_000 * 16 - world.show("x")["output"]["dropped_bytes"].as_u64().unwrap()
    );
}

/// Reading by cursor while the job writes: no byte is missing and none comes twice.
#[test]
fn a_cursor_continues_across_the_gap() {
    let world = World::new();
    let go = world.path("go");
    let step = format!(
        "while [ ! -e {0} ]; do sleep 0.01; done; rm {0}",
        go.display()
    );
    let id = world.shell(&format!(
        "echo one; {step}; printf 'tw\\303'; {step}; printf '\\266\\n'; {step}; echo three"
    ));
    let mut cursor = "b0".to_owned();
    let mut seen = String::new();
    for (part, next) in [
        ("one\n", true),
        ("tw", true),
        ("ö\n", true),
        ("three\n", false),
    ] {
        let mut now = String::new();
        outlive_testkit::waiting::until("the next part is there", || {
            let log = world.json(&["log", &id, "--cursor", &cursor, "--json"]);
            cursor = log["next_cursor"].as_str().unwrap().to_owned();
            now.push_str(log["text"].as_str().unwrap());
            now == part
        });
        seen.push_str(&now);
        if next {
            File::create(&go).unwrap();
        }
    }
    assert_eq!(seen, "one\ntwö\nthree\n");
    world.wait(&id);
    assert_eq!(
        world.json(&["log", &id, "--cursor", &cursor, "--json"])["text"],
        ""
    );
    assert_eq!(world.outlive(&["log", &id, "--cursor", "nonsense"]).code, 2);
}

#[test]
fn lines_are_found_by_text_and_by_time() {
    let world = World::new();
    let id = world.shell("seq 1 5000; sleep 2.1; echo late");
    world.wait(&id);
    assert_eq!(
        world.ok(&["log", &id, "--grep", "^4(00|99)0$"]),
        "4000\n4990"
    );
    assert_eq!(
        world.ok(&["log", &id, "--grep", "7$", "--lines", "2"]),
        "4987\n4997"
    );
    assert_eq!(world.ok(&["log", &id, "--since", "1500ms"]), "late");
    let stamped = world.ok(&["log", &id, "--timestamps", "--lines", "2"]);
    let moments: Vec<&str> = stamped
        .lines()
        .map(|line| line.split_once(' ').unwrap().0)
        .collect();
    assert!(
        moments[0] < moments[1] && moments[0].ends_with('Z'),
        "{stamped}"
    );
    assert_eq!(world.outlive(&["log", &id, "--grep", "("]).code, 2);
}

/// Reading a page of a large output reads only a small part of the file.
#[test]
fn a_page_reads_no_more_than_it_returns() {
    needs!(Strace);
    let world = World::new();
    let id = bounded(&world, "0", &lines(4_000_000));
    world.wait(&id);
    let trace = world.path("trace");
    let args = ["log", &id, "--offset", "2000000", "--lines", "3", "--json"];
    let outlive = world.command(args);
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-e", "trace=pread64", "-o"])
        .arg(&trace)
        .arg(outlive.get_program())
        .args(args);
    strace.env("OUTLIVE_HOME", world.home());
    let ran = Ran::of(&mut strace);
    let log: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        log["text"],
        format!("{}{}{}", line(1_999_999), line(2_000_000), line(2_000_001))
    );
    assert_eq!(log["total_lines"], 4_000_000);
    let trace = fs::read_to_string(trace).unwrap();
    let read: u64 = trace
        .lines()
        .filter_map(|call| call.rsplit_once("= ")?.1.trim().parse::<u64>().ok())
        .sum();
    assert!(
        read > 0 && read < 8 * MIB,
        "{read} of {} bytes were read",
        4_000_000 * 16
    );
}
