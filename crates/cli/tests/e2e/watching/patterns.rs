//! Which lines are told with `--watch` and its variants.

use super::{EVERY_MATCH, run, told, told_of, world};
use outlive_testkit::world::World;

const LOG: &str = "printf '%s\\n' 'INFO one' 'ERROR two' 'ERROR three (ignored)' 'panic: four' 'WARN a.b' 'WARN axb' 'INFO last'";

#[track_caller]
fn assert_told(options: &[&str], expected: &[&str]) {
    let world = world(EVERY_MATCH);
    assert_eq!(told_of(&world, options, LOG), expected, "{options:?}");
}

#[test]
fn watch_tells_lines_that_contain_the_text() {
    assert_told(
        &["--watch", "ERROR"],
        &["ERROR two", "ERROR three (ignored)"],
    );
}

#[test]
fn a_text_is_not_read_as_a_regular_expression() {
    assert_told(&["--watch", "a.b"], &["WARN a.b"]);
    assert_told(&["--watch", "(ignored"], &["ERROR three (ignored)"]);
}

#[test]
fn watch_regex_tells_lines_that_match() {
    assert_told(&["--watch-regex", "a.b$"], &["WARN a.b", "WARN axb"]);
    assert_told(
        &["--watch-regex", "^(panic|INFO l)"],
        &["panic: four", "INFO last"],
    );
}

#[test]
fn watch_tells_lines_that_match_any_of_several_patterns() {
    let options = [
        "--watch",
        "four",
        "--watch-regex",
        "^ERROR t.o$",
        "--watch",
        "axb",
        "--watch-regex",
        "last$",
    ];
    let world = world(EVERY_MATCH);
    let id = run(&world, &options, LOG);
    world.wait(&id);
    assert_eq!(
        told(&world, &id),
        ["ERROR two", "panic: four", "WARN axb", "INFO last"]
    );
    // Texts are numbered before expressions.
    let which: Vec<_> = world
        .events(&id, "matched")
        .iter()
        .map(|told| told["last"]["pattern"].as_u64().unwrap())
        .collect();
    assert_eq!(which, [2, 0, 1, 3]);
}

#[test]
fn a_line_in_which_several_match_is_told_once() {
    assert_told(
        &["--watch", "ERROR", "--watch", "two", "--watch-regex", "E"],
        &["ERROR two", "ERROR three (ignored)"],
    );
}

#[test]
fn watch_not_leaves_out_lines_that_contain_the_text() {
    assert_told(
        &["--watch", "ERROR", "--watch-not", "(ignored)"],
        &["ERROR two"],
    );
    assert_told(
        &["--watch-regex", "^[EW]", "--watch-not-regex", "a.b|three"],
        &["ERROR two"],
    );
}

#[test]
fn watch_not_alone_tells_all_other_lines() {
    assert_told(
        &["--watch-not", "R"],
        &["INFO one", "panic: four", "INFO last"],
    );
    assert_told(&["--watch-not-regex", "^[A-Z]+ "], &["panic: four"]);
    assert_told(
        &["--watch-not", "R", "--watch-not-regex", "^INFO"],
        &["panic: four"],
    );
}

#[test]
fn an_empty_line_can_match() {
    let world = world(EVERY_MATCH);
    let script = "printf 'a\\n\\nb\\n'";
    assert_eq!(told_of(&world, &["--watch-regex", "^$"], script), [""]);
    assert_eq!(told_of(&world, &["--watch-not", "a"], script), ["", "b"]);
}

#[test]
fn patterns_may_have_characters_beyond_ascii() {
    let world = world(EVERY_MATCH);
    let script = "printf 'Gr\\303\\274n\\nGRÜN\\ngr\\374n\\n'";
    assert_eq!(
        told_of(&world, &["--watch-regex", "(?i)^gr.n$"], script),
        ["Grün", "GRÜN"]
    );
    assert_eq!(told_of(&world, &["--watch", "ü"], script), ["Grün"]);
}

fn assert_refused(world: &World, option: &str, value: &str, said: &[&str]) {
    let ran = world.outlive(&["run", option, value, "--", "touch", "made"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    for word in said {
        assert!(ran.stderr.contains(word), "{word:?} is not in {ran:?}");
    }
    assert_eq!(world.listed(&[]), [""; 0], "something was started");
}

#[test]
fn a_bad_expression_is_refused_and_named() {
    let world = World::new();
    assert_refused(&world, "--watch-regex", "a(b", &["a(b", "unclosed group"]);
    assert_refused(&world, "--watch-not-regex", "[z-a]", &["[z-a]"]);
    assert_refused(&world, "--ready", "line:x{9}{", &["x{9}{"]);
    // This expression would take hundreds of megabytes.
    assert_refused(
        &world,
        "--watch-regex",
        r"(\w{1000}){1000}",
        &["{1000}){1000}"],
    );
}

/// Several large expressions together are accepted, and the keeper survives them.
#[test]
fn large_expressions_are_watched_for_together() {
    let world = world(EVERY_MATCH);
    let large: Vec<String> = (0..9).map(|n| format!(r"\w{{60}}{n}")).collect();
    let options: Vec<&str> = large
        .iter()
        .flat_map(|regex| ["--watch-regex", regex])
        .collect();
    let script = "printf '%s\\n' \"$(printf 'x%.0s' {1..60})5\" short";
    assert_eq!(
        told_of(&world, &options, script),
        [format!("{}5", "x".repeat(60))]
    );
}

#[test]
fn a_limit_without_a_watch_is_refused() {
    let world = World::new();
    assert_refused(&world, "--watch-limit", "3", &["--watch <TEXT>"]);
    assert_refused(&world, "--watch-limit", "0", &["--watch-limit"]);
}

#[test]
fn the_default_limits_hold_unless_configured() {
    let spec = |world: &World| {
        let id = run(world, &["--watch", "x"], "true");
        world.wait(&id);
        let spec = std::fs::read(world.job_dir(&id).join("spec.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&spec).unwrap()
    };
    let usual = spec(&World::new());
    assert_eq!(usual["watch"]["spacing_ms"], 15_000, "{usual}");
    assert_eq!(usual["watch"]["strikes"], 3, "{usual}");
    let rules = serde_json::json!({"most": 15, "window_ms": 10_000, "silence_ms": 30_000});
    assert_eq!(usual["breaker"], rules, "{usual}");
    let other = spec(&world(
        "[watch]\nspacing = \"300ms\"\nstrikes = 2\nstill = \"50ms\"\n[breaker]\nmost = 3\nwindow = \"2s\"\nsilence = \"1s\"\n",
    ));
    assert_eq!(other["watch"]["spacing_ms"], 300, "{other}");
    assert_eq!(other["watch"]["strikes"], 2, "{other}");
    assert_eq!(other["still_ms"], 50, "{other}");
    let rules = serde_json::json!({"most": 3, "window_ms": 2000, "silence_ms": 1000});
    assert_eq!(other["breaker"], rules, "{other}");
}
