//! `log` as text for a reader, and as the exact bytes.

use outlive_testkit::world::World;
use serde_json::Value;

/// Runs a job that prints this `printf` format, and waits for its end.
pub fn printed(world: &World, format: &str) -> String {
    let id = world.ok(&["run", "--", "printf", format]);
    world.wait(&id);
    id
}

#[test]
fn colours_and_progress_are_shown_as_they_ended() {
    let world = World::new();
    for (format, text) in [
        (r"\033[31mred\033[0m\n", "red\n"),
        (r" 10%%\r 50%%\r100%%\ndone\n", "100%\ndone\n"),
        (r"abX\bc\n", "abc\n"),
        (r"one\r\ntwo\r\n", "one\ntwo\n"),
        (r"\033]0;title\007shown\n", "shown\n"),
        (r"bad \377 byte\n", "bad \u{fffd} byte\n"),
        (r"no newline", "no newline"),
    ] {
        let id = printed(&world, format);
        assert_eq!(world.outlive(&["log", &id]).stdout, text, "{format}");
        let json: Value = world.json(&["log", &id, "--json"]);
        assert_eq!(json["text"], text, "{format}");
    }
}

#[test]
fn raw_prints_the_bytes_unchanged() {
    let world = World::new();
    let id = printed(&world, r"\033[31mred\033[0m\r\n");
    for options in [
        &["--raw"][..],
        &["--follow", "--raw"],
        &["--grep", "r", "--raw"],
    ] {
        let args = [&["log", &id], options].concat();
        assert_eq!(
            world.outlive(&args).stdout,
            "\x1b[31mred\x1b[0m\r\n",
            "{args:?}"
        );
    }
    assert_eq!(world.outlive(&["log", &id, "--follow"]).stdout, "red\n");
    assert_eq!(
        world.outlive(&["log", &id, "--bytes", "0:5"]).stdout,
        "\x1b[31m"
    );
}

#[test]
fn a_budget_keeps_the_beginning_and_the_end() {
    let world = World::new();
    let id = world.shell("seq 1 20000");
    world.wait(&id);
    let log = world.outlive(&[
        "log", &id, "--offset", "1", "--lines", "20000", "--budget", "4K",
    ]);
    assert!(log.stdout.len() <= 4096, "{} bytes", log.stdout.len());
    assert!(log.stdout.starts_with("1\n2\n3\n"), "{}", log.stdout);
    assert!(log.stdout.ends_with("19999\n20000\n"), "{}", log.stdout);
    let said: Vec<&str> = log
        .stdout
        .lines()
        .filter(|line| line.contains("left out"))
        .collect();
    assert_eq!(said.len(), 1, "{said:?}");
    let hint = log.stderr.split('`').nth(1).unwrap();
    let hint: Vec<&str> = hint.split(' ').skip(1).collect();
    let middle = world.outlive(&hint).stdout;
    let [head, tail] = log
        .stdout
        .split(&format!("{}\n", said[0]))
        .collect::<Vec<_>>()[..]
    else {
        panic!("head and tail: {}", log.stdout);
    };
    let whole: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    assert!(
        format!("{head}{middle}{tail}") == whole,
        "what was left out is what is shown then"
    );
    let shown = log.stdout.lines().count() as u64 - 1;
    let digits: String = said[0]
        .split("lines")
        .next()
        .unwrap()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    assert_eq!(
        digits.parse::<u64>().unwrap(),
        20_000 - shown,
        "{}",
        said[0]
    );
}

/// Even a small budget shows the end, because a reader needs the end most.
#[test]
fn a_small_budget_keeps_the_end() {
    let world = World::new();
    let id = world.shell("seq 1 1000");
    world.wait(&id);
    for (budget, has_beginning) in [("60", false), ("100", true), ("300", true)] {
        let log = world.outlive(&["log", &id, "--lines", "1000", "--budget", budget]);
        let text = log.stdout;
        assert!(text.len() <= budget.parse().unwrap(), "{budget}: {text}");
        assert!(text.ends_with("\n1000\n"), "{budget}: {text}");
        assert!(text.contains(" left out …]\n"), "{budget}: {text}");
        assert_eq!(
            text.starts_with("1\n2\n"),
            has_beginning,
            "{budget}: {text}"
        );
    }
}

/// There is no such note if --lines asked for this number of lines.
#[test]
fn log_says_how_many_lines_it_left_out() {
    let world = World::new();
    let [few, many] = ["seq 1 200", "seq 1 12345"].map(|script| world.shell(script));
    world.wait(&few);
    world.wait(&many);
    let said = |args: &[&str]| world.outlive(args).stderr;
    let note = said(&["log", &many]);
    assert_eq!(
        note,
        "outlive: showing the last 200 of 12345 lines; --lines N shows more\n"
    );
    for args in [
        &["log", &few][..],
        &["log", &many, "--lines", "10"],
        &["log", &many, "--offset", "5"],
        &["log", &many, "--json"],
        &["log", &many, "--quiet"],
    ] {
        assert_eq!(said(args), "", "{args:?}");
    }
}

#[test]
fn a_very_long_line_is_shortened_and_says_by_how_much() {
    let world = World::new();
    let id = world.shell("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo after");
    world.wait(&id);
    let text = world.outlive(&["log", &id]).stdout;
    assert!(text.len() < 20_000, "{} bytes", text.len());
    assert!(
        text.contains("bytes left out") && text.ends_with("\nafter\n"),
        "{}",
        &text[text.len() - 100..]
    );
    assert_eq!(
        world.outlive(&["log", &id, "--raw"]).stdout.len(),
        3_000_000 + 7
    );
}

/// U+009B starts a control sequence on a terminal that honours C1 controls.
#[test]
fn json_has_no_character_that_a_terminal_obeys() {
    let world = World::new();
    let text = "\u{9b}2J\u{90}\u{7f}é";
    let id = world.ok(&["run", "--", "printf", "%s", text]);
    world.wait(&id);
    for args in [
        &["log", &id, "--raw", "--json"][..],
        &["log", &id, "--grep", "é", "--raw", "--json"],
        &["log", &id, "--follow", "--raw", "--json"],
        &["show", &id, "--json"],
        &["list", "--json"],
    ] {
        let json = world.outlive(args).stdout;
        let is_harmless = |c: char| c == '\n' || !c.is_control();
        assert!(json.chars().all(is_harmless), "{args:?}: {json:?}");
        assert!(json.contains("\\u009b"), "{args:?}: {json}");
        serde_json::from_str::<Value>(&json).unwrap();
    }
    let log: Value = world.json(&["log", &id, "--raw", "--json"]);
    assert_eq!(log["text"], text);
}

/// The part of a long line that is shown and the number of bytes left out add up to the whole line.
#[test]
fn a_preview_counts_what_it_leaves_out_of_a_line() {
    let world = World::new();
    for size in [3_000_usize, 300_000, 3_000_000] {
        let id = world.shell(&format!(
            "echo first; head -c {size} /dev/zero | tr '\\0' x; echo; echo last"
        ));
        world.wait(&id);
        let json = world.show(&id)["preview"].as_str().unwrap().to_owned();
        let text = world.outlive(&["show", &id]).stdout;
        assert!(text.ends_with(&json), "{text}");
        let line = json.lines().find(|line| line.contains("left out"));
        let line = line.unwrap_or_else(|| panic!("no line for {size}: {json}"));
        let (_, after) = line.split_once('[').unwrap();
        let (count, _) = after.split_once(' ').unwrap();
        let count: usize = count.replace(',', "").parse().unwrap();
        let shown = line.bytes().filter(|byte| *byte == b'x').count();
        assert_eq!(count + shown, size, "{line}");
        assert!(json.ends_with("xxx\nlast\n"), "{json}");
        assert!(json.len() < 8192, "a glance of {} bytes", json.len());
        let redacted = world.json(&["show", &id, "--redact", "--json"]);
        let redacted = redacted["preview"].as_str().unwrap();
        assert!(redacted.contains(" bytes left out] … "), "{redacted}");
        assert!(redacted.ends_with("last\n"), "{redacted}");
    }
}

/// Only the last state of a progress bar is shown, even if it was overwritten many times.
#[test]
fn a_preview_of_progress_shows_its_last_state() {
    let world = World::new();
    let id = world.shell("seq -f '%06.0f of it' 200000 | tr '\\n' '\\r'");
    world.wait(&id);
    assert_eq!(world.show(&id)["preview"], "200000 of it");
}
