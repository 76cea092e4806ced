//! `watch`: the watch and the `notify` of a running job are changed.

use super::{SESSION, run, told, until_told, waiting, world};
use outlive_testkit::checks::until_wrote;
use outlive_testkit::processes::kill_for_good;
use outlive_testkit::scripts::let_go;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// Prints what is sent to it.
const ECHO: &str = "cat";

fn echo(world: &World, options: &[&str]) -> String {
    run(world, &[&["--stdin", "pipe"], options].concat(), ECHO)
}

fn say(world: &World, id: &str, line: &str) {
    world.ok(&["send", id, line, "--enter"]);
    until_wrote(world, id, &format!("{line}\n"));
}

/// The sources of the patterns that `show` prints.
fn patterns(job: &Value) -> Vec<&str> {
    let all = job["watch"]["patterns"].as_array();
    all.into_iter()
        .flatten()
        .map(|pattern| {
            let mut values = pattern.as_object().unwrap().values();
            values.next().unwrap().as_str().unwrap()
        })
        .collect()
}

#[test]
fn a_job_without_a_watch_gets_one() {
    let world = world();
    let id = echo(&world, &[]);
    say(&world, &id, "ERROR before");
    let answer = world.json(&["watch", &id, "ERROR", "--json"]);
    assert_eq!(patterns(&answer["jobs"][0]), ["ERROR"]);
    say(&world, &id, "ERROR after");
    until_told(&world, &id, &["ERROR after"]);
    let events = waiting(&world, "matched");
    assert_eq!(events[0]["data"]["line"], "ERROR after");
    assert_eq!(events[0]["data"]["pattern_text"], "ERROR");
}

#[test]
fn patterns_are_added_and_dropped() {
    let world = world();
    let id = echo(&world, &["--watch", "one"]);
    world.ok(&["watch", &id, "--regex", "tw.$"]);
    say(&world, &id, "one");
    say(&world, &id, "two");
    until_told(&world, &id, &["one", "two"]);
    world.ok(&["watch", &id, "--drop", "one", "--not", "not this"]);
    say(&world, &id, "one again");
    say(&world, &id, "not this two");
    say(&world, &id, "again two");
    until_told(&world, &id, &["one", "two", "again two"]);
    assert_eq!(patterns(&world.show(&id)), ["tw.$", "not this"]);
    world.ok(&["watch", &id, "--drop-all"]);
    say(&world, &id, "two");
    assert_eq!(world.show(&id)["watch"], Value::Null);
    world.ok(&["watch", &id, "--drop-all", "three"]);
    say(&world, &id, "two three");
    until_told(&world, &id, &["one", "two", "again two", "two three"]);
    assert_eq!(world.show(&id)["matches"], 4);
}

#[test]
fn an_unfinished_line_counts_for_the_new_watch() {
    let world = world();
    let id = echo(&world, &[]);
    world.ok(&["send", &id, "half a "]);
    until_wrote(&world, &id, "half a ");
    world.ok(&["watch", &id, "--regex", "^half a line$"]);
    say(&world, &id, "line");
    until_told(&world, &id, &["half a line"]);
}

#[test]
fn kept_output_is_looked_through_once_and_told_as_one_event() {
    let world = world();
    let id = echo(&world, &["--watch", "old"]);
    say(&world, &id, "old ERROR 0");
    for number in 1..=30 {
        world.ok(&["send", &id, &format!("ERROR {number}"), "--enter"]);
    }
    say(&world, &id, "the end");
    for _ in 0..2 {
        world.ok(&["watch", &id, "ERROR", "--look-back"]);
    }
    let events = waiting(&world, "matched");
    assert_eq!(events.len(), 2, "{events:?}");
    let data = &events[1]["data"];
    assert_eq!(
        (&data["count"], &data["looked_back"]),
        (&json!(31), &json!(true))
    );
    assert_eq!(data["pattern_text"], "ERROR");
    let lines = data["lines"].as_array().unwrap();
    assert_eq!(
        (lines.len(), &lines[0], &lines[19]),
        (20, &json!("ERROR 11"), &json!("ERROR 30"))
    );
    let text = events[1]["text"].as_str().unwrap();
    assert!(
        text.contains("31 lines") && text.contains("ERROR 11"),
        "{text}"
    );
    say(&world, &id, "ERROR new");
    until("it goes on behind them", || told(&world, &id).len() == 3);
    assert_eq!(told(&world, &id)[2], "ERROR new");
}

#[test]
fn only_the_last_part_is_looked_through_if_that_was_asked() {
    let world = world();
    let id = echo(&world, &[]);
    for number in 1..=9 {
        say(&world, &id, &format!("ERROR {number}"));
    }
    // Each line has 8 bytes.
    world.ok(&["watch", &id, "ERROR", "--look-back=16"]);
    assert_eq!(waiting(&world, "matched")[0]["data"]["count"], 2);
}

#[test]
fn a_watch_that_reached_its_limit_begins_again() {
    let world = world();
    let id = echo(&world, &["--watch", "x", "--watch-limit", "1"]);
    say(&world, &id, "x1");
    until_told(&world, &id, &["x1"]);
    say(&world, &id, "x2");
    world.ok(&["watch", &id, "x", "--limit", "2"]);
    for line in ["x3", "x4", "x5"] {
        say(&world, &id, line);
    }
    world.ok(&["send", &id, "--eof"]);
    world.wait(&id);
    assert_eq!(told(&world, &id), ["x1", "x3", "x4"]);
}

#[test]
fn which_ends_are_reported_can_be_changed() {
    let world = world();
    let silent = run(&world, &[], "until [ -e \"$GO\" ]; do sleep 0.02; done");
    let told = run(
        &world,
        &["--notify", "never"],
        "until [ -e \"$GO\" ]; do sleep 0.02; done",
    );
    world.ok(&["watch", &silent, "--notify", "failure"]);
    world.ok(&["watch", &told, "--notify", "end"]);
    assert_eq!(world.show(&silent)["notify"], "failure");
    assert_eq!(world.show(&told).get("notify"), None);
    let_go(&world);
    world.wait(&silent);
    world.wait(&told);
    let events = waiting(&world, "ended");
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["job"], told);
}

#[test]
fn a_wait_for_a_match_is_possible_once_there_is_a_watch() {
    let world = world();
    let id = echo(&world, &[]);
    let args = ["wait", &id, "--for", "match", "--timeout", "30s"];
    let refused = world.outlive(&args);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("outlive watch"), "{refused:?}");
    world.ok(&["watch", &id, "now"]);
    say(&world, &id, "now");
    assert_eq!(world.outlive(&args).code, 0);
}

/// The keeper of the second pair reads the journal, as an adopter does.
#[test]
fn new_keepers_go_on_with_the_new_watch() {
    let world = world();
    let id = echo(&world, &["--watch", "old"]);
    world.ok(&["watch", &id, "--drop-all", "new"]);
    for _ in 0..2 {
        world.kill_keeper(&id);
        say(&world, &id, "old");
        say(&world, &id, "new");
    }
    until_told(&world, &id, &["new", "new"]);
    world.ok(&["watch", &id, "old"]);
    say(&world, &id, "old again");
    until_told(&world, &id, &["new", "new", "old again"]);
    kill_for_good(world.settled_pair(&id).1);
    assert_eq!(patterns(&world.show(&id)), ["new", "old"]);
}

#[test]
fn what_cannot_be_watched_for_is_refused_and_changes_nothing() {
    let world = world();
    let id = echo(&world, &["--watch", "x"]);
    for (args, word) in [
        (vec!["--regex", "a(b"], "regular expression"),
        (vec!["--look-back"], "no pattern"),
        (vec!["--limit", "x"], "invalid"),
    ] {
        let ran = world.outlive(&[&["watch", &id], args.as_slice()].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(word), "{ran:?}");
    }
    assert_eq!(world.events(&id, "changed"), Vec::<Value>::new());
    world.ok(&["send", &id, "--eof"]);
    world.wait(&id);
    world.until_over(&id);
    let ran = world.outlive(&["watch", &id, "y"]);
    assert_eq!(ran.code, 125, "{ran:?}");
    assert!(ran.stderr.contains("has ended"), "{ran:?}");
    assert_eq!(world.ok(&["watch", &id]), "text \"x\"");
    assert_eq!(
        waiting(&world, "ended").len(),
        1,
        "the session {SESSION} is told of the end"
    );
}

#[test]
fn an_adopted_job_has_no_output_to_watch() {
    let world = World::new();
    let mut process = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    world.ok(&["adopt", &process.id().to_string(), "--id", "taken"]);
    let refused = world.outlive(&["watch", "taken", "ready"]);
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(
        refused.stderr.contains("its output goes elsewhere"),
        "{refused:?}"
    );
    world.ok(&["watch", "taken", "--notify", "never"]);
    world.ok(&["stop", "taken"]);
    process.wait().unwrap();
}
