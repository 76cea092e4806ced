//! What counts as a line, however it is written.

use super::{EVERY_MATCH, matches, run, told, told_of, world};
use outlive_testkit::checks::until_output;
use outlive_testkit::scripts::{WAITS, let_go};

#[test]
fn a_match_split_across_writes_is_found() {
    let world = world(EVERY_MATCH);
    // The keeper reads each piece before the job writes the next.
    let id = run(
        &world,
        &["--watch", "ERROR here"],
        &format!("printf 'an ER'; {WAITS} printf 'ROR he'; printf 're now\\n'"),
    );
    until_output(&world, &id, "an ER");
    let_go(&world);
    world.wait(&id);
    assert_eq!(told(&world, &id), ["an ERROR here now"]);
}

#[test]
fn a_match_split_into_single_bytes_is_found() {
    needs!(Python);
    let world = world(EVERY_MATCH);
    let script = "python3 -uc 'import os\nfor b in b\"one ERROR\\ntwo\\nERROR three\\n\": os.write(1, bytes([b]))'";
    assert_eq!(
        told_of(&world, &["--watch", "ERROR"], script),
        ["one ERROR", "ERROR three"]
    );
}

#[test]
fn colours_are_no_part_of_a_line() {
    let world = world(EVERY_MATCH);
    let script = r#"printf 'x \033[1;31mER\033[0;4mROR\033[0m: \033]8;;http://a\033\\link\033]8;;\033\\ y\n'; printf '\033[32mok\033[0m\n'"#;
    assert_eq!(
        told_of(&world, &["--watch", "ERROR: link"], script),
        ["x ERROR: link y"]
    );
    assert_eq!(told_of(&world, &["--watch-regex", "^ok$"], script), ["ok"]);
}

#[test]
fn a_line_may_end_like_on_windows() {
    let world = world(EVERY_MATCH);
    let script = r"printf 'ERROR one\r\nfine\r\nERROR two\r\n'";
    assert_eq!(
        told_of(&world, &["--watch-regex", "^ERROR (one|two)$"], script),
        ["ERROR one", "ERROR two"]
    );
    assert_eq!(told_of(&world, &["--watch-not", "ERROR"], script), ["fine"]);
}

#[test]
fn each_state_of_a_progress_bar_is_checked_and_the_line_reported_once() {
    let world = world(EVERY_MATCH);
    let script = r#"for n in {1..100}; do printf '\r%3d%% done' $n; done; printf '\nnext\n'"#;
    assert_eq!(
        told_of(&world, &["--watch-regex", r"^ 42% done$"], script),
        [" 42% done"]
    );
    assert_eq!(
        told_of(&world, &["--watch", "% done"], script),
        ["  1% done"]
    );
}

#[test]
fn other_bytes_around_a_match_do_not_hide_it() {
    let world = world(EVERY_MATCH);
    let script = r"printf '\377\376\000\001ERROR\000\200 here\n\000\000\n\303ERROR\n'";
    assert_eq!(
        told_of(&world, &["--watch", "ERROR"], script),
        [
            "\u{fffd}\u{fffd}\0\u{1}ERROR\0\u{fffd} here",
            "\u{fffd}ERROR"
        ]
    );
}

#[test]
fn lines_of_a_terminal_job_are_told_of() {
    let world = world(EVERY_MATCH);
    let script = r"tty >/dev/null || exit 9; printf '\033[31mERROR\033[m one\nfine\nERROR two\n'";
    assert_eq!(
        told_of(&world, &["--pty", "--watch-regex", "ERROR \\w+$"], script),
        ["ERROR one", "ERROR two"]
    );
}

#[test]
fn both_streams_are_watched() {
    let world = world(EVERY_MATCH);
    assert_eq!(
        told_of(
            &world,
            &["--watch", "ERROR"],
            "echo ERROR out; echo ERROR err >&2"
        ),
        ["ERROR out", "ERROR err"]
    );
}

#[test]
fn a_match_tells_its_offset_in_the_output() {
    let world = world(EVERY_MATCH);
    let id = run(
        &world,
        &["--watch", "ERROR"],
        r"printf 'first\n\033[1mthe ERROR\033[m\nlast\n'",
    );
    world.wait(&id);
    let last = &world.events(&id, "matched")[0]["last"];
    let place = |key: &str| last[key].as_u64().unwrap() as usize;
    let line = &world.output(&id)[place("offset")..place("end")];
    assert_eq!(line, b"\x1b[1mthe ERROR\x1b[m");
}

#[test]
fn a_watch_limit_of_one_tells_only_the_first_match() {
    let world = world(EVERY_MATCH);
    let options = ["--watch", "n", "--watch-limit", "1"];
    assert_eq!(
        told_of(&world, &options, "for n in {1..50}; do echo n $n; done"),
        ["n 1"]
    );
}

#[test]
fn a_watch_limit_tells_that_many_matches() {
    let world = world(EVERY_MATCH);
    let options = ["--watch", "n", "--watch-limit", "7"];
    let expected: Vec<String> = (1..=7).map(|n| format!("n {n}")).collect();
    assert_eq!(
        told_of(
            &world,
            &options,
            "for n in {1..50}; do echo n $n; sleep 0.002; done"
        ),
        expected
    );
}

/// Matches within one spacing are counted up to the limit.
#[test]
fn a_limit_holds_within_a_spacing() {
    let world = world("[watch]\nspacing = \"200ms\"\n");
    let options = ["--watch", "n", "--watch-limit", "7"];
    let id = run(
        &world,
        &options,
        "for n in {1..50}; do echo n $n; done; sleep 1",
    );
    world.wait(&id);
    assert_eq!(matches(&world, &id), 7);
    let last = world.events(&id, "matched").pop().unwrap();
    assert_eq!(last["last"]["text"], "n 7");
}
