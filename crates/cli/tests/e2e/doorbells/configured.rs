//! Configured doorbells, rung by the end of a real job.

use super::{Heard, command_bell, configure, end_of, until_stands, web_server, webhook};
use outlive_testkit::ran::Ran;
use outlive_testkit::world::World;
use ring::hmac;
use serde_json::{Value, json};
use std::fs;

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// Runs a job whose output has a secret and other text.
fn talk(world: &World) -> String {
    let script = format!("echo \"token {TOKEN}\"; echo last words; exit 3");
    let mut command = world.command(["run", "--shell", &script]);
    let ran = Ran::of(command.env("OPS_SECRET", "s3cret"));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// Checks that the event has the whole text for an agent, without the secret.
fn assert_full(event: &Value, id: &str) {
    let text = event["text"].as_str().unwrap();
    let first = format!("Job {id} failed with exit code 3 after ");
    assert!(text.starts_with(&first), "{text}");
    assert!(text.contains("\n| last words\n"), "{text}");
    assert!(text.contains("\nCommand:\n| "), "{text}");
    assert!(
        text.ends_with(&format!("See more: outlive log {id}")),
        "{text}"
    );
    assert!(!event.to_string().contains(TOKEN), "{event}");
    assert_eq!(event["data"]["exit_code"], 3);
    assert_eq!(
        (&event["kind"], &event["session"]),
        (&json!("ended"), &Value::Null)
    );
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let line = head.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_once(": ").unwrap().1.trim()
}

#[test]
fn a_webhook_gets_the_whole_event_signed() {
    let world = World::new();
    let (url, request) = web_server("204 No Content");
    configure(&world, &webhook(&url, "secret_env = \"OPS_SECRET\""));
    let id = talk(&world);
    let (head, body) = request.join().unwrap();
    let event: Value = serde_json::from_slice(&body).unwrap();
    assert_full(&event, &id);
    assert_eq!(event["event"], end_of(&world, &id).as_str());
    assert_eq!(header(&head, "x-outlive-event"), end_of(&world, &id));
    let signed = [header(&head, "x-outlive-timestamp").as_bytes(), b".", &body].concat();
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"s3cret");
    let hex: String = hmac::sign(&key, &signed)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        header(&head, "x-outlive-signature"),
        format!("sha256={hex}")
    );
    until_stands(&world, &id, "rung", 1);
    world.until_over(&id);
    // The secrets must be only where the user put them.
    let spec = fs::read_to_string(world.job_dir(&id).join("spec.json")).unwrap();
    assert!(
        !spec.contains("s3cret") && !spec.contains("t0ken"),
        "{spec}"
    );
}

#[test]
fn show_reports_a_webhook_that_refuses() {
    let world = World::new();
    let (url, request) = web_server("500 Oh");
    configure(&world, &webhook(&url, ""));
    let id = talk(&world);
    request.join().unwrap();
    until_stands(&world, &id, "waiting", 1);
    let shown = world.ok(&["show", &id]);
    assert!(
        shown.contains("ops to be rung again after 1 attempt"),
        "{shown}"
    );
    assert!(shown.contains("answered 500"), "{shown}");
    assert!(!shown.contains("t0ken"), "{shown}");
}

#[test]
fn a_command_gets_the_whole_event() {
    let world = World::new();
    let heard = Heard::new(&world);
    configure(&world, &command_bell(&heard.command(), ""));
    let id = talk(&world);
    world.until_over(&id);
    let events = heard.events();
    assert_eq!(events.len(), 1);
    assert_full(&events[0], &id);
}

/// A job keeps the doorbells that were configured when it started.
#[test]
fn a_later_configuration_does_not_change_a_command() {
    let world = World::new();
    let heard = Heard::new(&world);
    configure(&world, &command_bell(&heard.command(), ""));
    let script = outlive_testkit::scripts::loop_until(&world.path("go"));
    let id = world.ok(&["run", "--shell", &script]);
    configure(&world, "this is not TOML");
    fs::write(world.path("go"), "").unwrap();
    world.until_over(&id);
    assert_eq!(heard.events().len(), 1);
}

#[test]
fn a_doorbell_for_failures_rings_only_for_failures() {
    let world = World::new();
    let heard = Heard::new(&world);
    configure(&world, &command_bell(&heard.command(), "on = \"failure\""));
    let good = world.ok(&["run", "--", "true"]);
    world.until_over(&good);
    assert_eq!(world.show(&good).get("doorbells"), None);
    let bad = talk(&world);
    world.until_over(&bad);
    let stopped = world.ok(&["run", "--", "sleep", "60"]);
    world.ok(&["stop", &stopped]);
    world.until_over(&stopped);
    let jobs: Vec<Value> = heard
        .events()
        .iter()
        .map(|event| event["job"].clone())
        .collect();
    assert_eq!(jobs, [bad, stopped]);
}
