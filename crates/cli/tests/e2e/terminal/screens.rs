//! `log --screen`: what a person would see on the terminal.

use super::screen;
use outlive_testkit::checks::{every, until_wrote};
use outlive_testkit::scripts::{ok, on_terminal, send_line};
use outlive_testkit::world::World;
use serde_json::json;

/// The screen after a job wrote this: its text, and the row and column of the cursor.
fn shown_after(size: &str, format: &str) -> (String, i64, i64) {
    let world = World::new();
    let id = ok(
        &world,
        &["run", &format!("--pty={size}"), "--", "printf", format],
    );
    world.wait(&id);
    let seen = screen(&world, &id);
    (
        seen["text"].as_str().unwrap().to_owned(),
        seen["cursor"]["row"].as_i64().unwrap(),
        seen["cursor"]["col"].as_i64().unwrap(),
    )
}

#[test]
fn the_screen_shows_what_a_person_would_see() {
    let table = [
        ("5x20", "one\\ntwo", "one\ntwo", 1, 3),
        ("5x20", "old\\033[2J\\033[Hnew", "new", 0, 3),
        ("5x20", "10%%\\r50%%\\r100%%\\n", "100%", 1, 0),
        ("5x20", "a\\rlonger\\rb", "bonger", 0, 1),
        ("5x20", "sh\\033[?1049h\\033[Hed", "ed", 0, 2),
        ("5x20", "sh\\033[?1049h\\033[Hed\\033[?1049l", "sh", 0, 2),
        ("5x20", "日本", "日本", 0, 4),
        ("5x20", "日本\\b\\bx", "日x", 0, 3),
        ("3x20", "1\\n2\\n3\\n4\\n5", "3\n4\n5", 2, 1),
        ("5x20", "\\033[31mred\\033[0m", "red", 0, 3),
        ("5x20", "\\033[3;5Hhere", "\n\n    here", 2, 8),
        ("5x20", "abcdef\\033[3D\\033[K", "abc", 0, 3),
        ("5x20", "e\\xcc\\x81", "e\u{301}", 0, 1),
        ("5x20", "a\\tb", "a       b", 0, 9),
        (
            "5x20",
            "1\\n2\\n3\\n4\\n\\033[2;3r\\033[3;1H\\nx",
            "1\n3\nx\n4",
            2,
            1,
        ),
    ];
    every(
        &table,
        |row| row.1.to_owned(),
        |(size, format, text, row, col)| {
            assert_eq!(shown_after(size, format), ((*text).to_owned(), *row, *col));
        },
    );
}

#[test]
fn a_wrapped_line_takes_several_rows_of_the_screen() {
    assert_eq!(
        shown_after("3x10", "0123456789abc"),
        ("0123456789\nabc".to_owned(), 1, 3)
    );
    assert_eq!(shown_after("3x5", "abcd日"), ("abcd\n日".to_owned(), 1, 2));
}

#[test]
fn a_full_row_leaves_the_cursor_on_it() {
    let (text, row, _) = shown_after("3x10", "0123456789");
    assert_eq!((text.as_str(), row), ("0123456789", 0));
    let (text, row, _) = shown_after("3x10", "0123456789\\nx");
    assert_eq!((text.as_str(), row), ("0123456789\nx", 1));
}

#[test]
fn the_screen_says_whether_the_cursor_is_hidden_and_who_has_the_screen() {
    let world = World::new();
    let script = "printf '\\033[?25l\\033[?1049hx'; read -r x; printf '\\033[?1049l\\033[?25hy'";
    let id = on_terminal(&world, script);
    until_wrote(&world, &id, "x");
    let seen = screen(&world, &id);
    assert_eq!(seen["cursor"]["visible"], false);
    assert_eq!(seen["alternate"], true);
    assert_eq!(seen["id"], json!(id));
    send_line(&world, &id, "");
    world.wait(&id);
    let seen = screen(&world, &id);
    assert_eq!(seen["cursor"]["visible"], true);
    assert_eq!(seen["alternate"], false);
}

#[test]
fn a_job_without_a_terminal_has_no_screen() {
    let world = World::new();
    let id = world.shell("echo hello");
    world.wait(&id);
    let ran = world.outlive(&["log", &id, "--screen"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("--pty"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}
