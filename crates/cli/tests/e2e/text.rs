//! `log` as a reader wants it, and as it is.

use crate::world::World;
use serde_json::Value;

/// A job that prints this, as `printf` understands it; over.
fn printed(world: &World, format: &str) -> String {
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
fn raw_bytes_are_always_to_be_had() {
    let world = World::new();
    let id = printed(&world, r"\033[31mred\033[0m\r\n");
    for args in [["log", &id, "--raw"], ["log", &id, "--follow"]] {
        assert_eq!(
            world.outlive(&args).stdout,
            "\x1b[31mred\x1b[0m\r\n",
            "{args:?}"
        );
    }
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

#[test]
fn secrets_are_left_out_where_that_is_asked_for() {
    let world = World::new();
    let token = ["ghp", "_", &"a1B2".repeat(9)].concat();
    let id = world.shell(&format!(
        "echo token is {token}; echo API_TOKEN=s3cretvalue99; echo fine"
    ));
    world.wait(&id);
    let shown = world.outlive(&["log", &id, "--redact"]).stdout;
    assert!(
        !shown.contains(&token) && !shown.contains("s3cretvalue99"),
        "{shown}"
    );
    assert!(
        shown.contains("[redacted:") && shown.ends_with("fine\n"),
        "{shown}"
    );
    assert!(
        world.outlive(&["log", &id]).stdout.contains(&token),
        "it is the owner's own terminal"
    );
    assert!(
        world
            .outlive(&["log", &id, "--redact", "--no-redact"])
            .stdout
            .contains(&token)
    );
    assert!(
        !world
            .ok(&["log", &id, "--redact", "--grep", "TOKEN"])
            .contains("s3cret")
    );
}
