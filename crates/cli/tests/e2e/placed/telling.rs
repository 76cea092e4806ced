//! What a session is told of a place that is not reached.

use super::Far;
use outlive_testkit::processes::begin;
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_long_silence_and_its_end_are_told_once() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "exec sleep 60");
    far.cut();
    world.show("job");
    assert_eq!(far.kinds_told(), [""; 0], "it has only begun");
    world.kill_couriers();
    far.silent_since_long_ago();
    let told = far.told();
    assert_eq!(told.len(), 1, "{told:?}");
    let event = &told[0];
    assert_eq!(
        (&event["kind"], &event["job"]),
        (&"unreachable".into(), &"job".into())
    );
    assert_eq!(event["data"]["place"], "far");
    assert_eq!(event["data"]["jobs"], serde_json::json!(["job"]));
    assert!(
        event["text"].as_str().unwrap().contains("the link is down"),
        "{event}"
    );
    assert_eq!(far.kinds_told(), [""; 0], "it is told once");
    far.mend();
    world.kill_couriers();
    assert_eq!(world.show("job")["state"], "running");
    assert_eq!(far.kinds_told(), ["reached"]);
    assert_eq!(far.kinds_told(), [""; 0]);
    // The next silence is another one.
    far.cut();
    world.show("job");
    world.kill_couriers();
    far.silent_since_long_ago();
    assert_eq!(far.kinds_told(), ["unreachable"]);
    far.mend();
    world.kill_couriers();
    world.ok(&["stop", "job"]);
    let mut told = far.kinds_told();
    told.sort();
    assert_eq!(told, ["ended", "reached"]);
}

#[test]
fn a_silence_that_nobody_was_told_of_has_no_end() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "exec sleep 60");
    far.cut();
    world.show("job");
    world.kill_couriers();
    far.silent_since_long_ago();
    // It is posted, and only looked at.
    let peeked = world.json(&["inbox", "--session", "s", "--peek", "--json"]);
    assert_eq!(peeked["events"][0]["kind"], "unreachable", "{peeked}");
    far.mend();
    world.kill_couriers();
    assert_eq!(world.show("job")["state"], "running");
    assert_eq!(far.kinds_told(), [""; 0]);
    world.ok(&["stop", "job"]);
}

#[test]
fn who_follows_the_inbox_is_told_of_an_end_at_a_place() {
    let far = Far::new();
    let world = &far.world;
    let go = far.there("go");
    let script = format!(
        "until [ -e '{}' ]; do sleep 0.02; done; exit 7",
        go.display()
    );
    far.start("job", &script);
    let mut inbox = world.command(["inbox", "--session", "s", "--follow", "--json"]);
    let mut inbox = begin_piped(&mut inbox);
    let mut lines = BufReader::new(inbox.stdout.take().unwrap()).lines();
    until("it listens", || !world.couriers().is_empty());
    std::fs::write(&go, "").unwrap();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("\"kind\":\"ended\""), "{line}");
    inbox.kill().unwrap();
    inbox.wait().unwrap();
}

fn begin_piped(command: &mut std::process::Command) -> std::process::Child {
    let mut piped = std::process::Command::new(command.get_program());
    piped.args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => piped.env(key, value),
            None => piped.env_remove(key),
        };
    }
    piped.stdout(Stdio::piped());
    begin(piped)
}

/// Somebody has removed it from the file, and not by the verb.
#[test]
fn a_place_that_is_no_longer_configured_keeps_nothing_from_a_session() {
    let far = Far::new();
    let world = &far.world;
    far.start("job", "exec sleep 60");
    far.cut();
    world.show("job");
    world.kill_couriers();
    far.silent_since_long_ago();
    assert_eq!(far.kinds_told(), ["unreachable"]);
    let config = world.path("config/outlive/config.toml");
    let before = std::fs::read(&config).unwrap();
    far.configure("");
    assert_eq!(far.kinds_told(), [""; 0]);
    let waiter = begin(world.command(["inbox", "--session", "s", "--wait=60s", "--json"]));
    world.ok(&[
        "run",
        "--id",
        "here",
        "--session",
        "s",
        "--place",
        "local",
        "--shell",
        "sleep 0.2",
    ]);
    let ran = Ran::end_of(waiter);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("\"here\""), "{ran:?}");
    std::fs::write(&config, before).unwrap();
    far.mend();
    world.ok(&["stop", "job"]);
}
