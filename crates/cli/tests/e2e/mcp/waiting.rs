//! Waiting within the client's patience: progress and cancelling, without polling.

use super::client::{Client, text_of};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::time::Instant;

#[test]
fn wait_answers_within_the_clients_patience_and_says_that_it_goes_on() {
    let world = World::new();
    let mut client = Client::with(&world, &["--session", "s", "--patience", "1s"]);
    let id = client.run("echo begun; sleep 600");
    let begun = Instant::now();
    let result = client.tool("wait", json!({"ids": [id], "timeout_seconds": 3600}));
    assert!(begun.elapsed().as_secs() < 10);
    assert_eq!(result["isError"], false);
    let answer = &result["structuredContent"];
    assert_eq!(answer["still_running"], true);
    assert_eq!(answer["jobs"][0]["state"], "running");
    assert!(text_of(&result).contains("Still running"));
    let cursor = answer["jobs"][0]["cursor"].as_str().unwrap();
    assert!(
        text_of(&result).contains(&format!("[next cursor {cursor}]")),
        "{result}"
    );
    let log = client.ok("log", json!({"id": id, "cursor": cursor}));
    assert_eq!(log["text"], "");
    // A `run` that waits for its job also returns in time.
    let ran = client.ok("run", json!({"command": "sleep 600", "wait_seconds": 3600}));
    assert_eq!(ran["job"]["state"], "running");
}

#[test]
fn a_waiting_client_gets_progress() {
    let world = World::new();
    let mut client = Client::with(&world, &["--session", "s", "--patience", "2s"]);
    let id = client.run("sleep 600");
    client.meta = json!({"progressToken": "p-1"});
    client.ok("wait", json!({"ids": [id]}));
    let progress: Vec<f64> = client
        .others
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| {
            assert_eq!(message["params"]["progressToken"], "p-1");
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(progress.len() >= 2, "{:?}", client.others);
    assert!(progress.is_sorted());
    assert_eq!(client.others.len(), progress.len());
}

#[test]
fn cancelling_a_wait_leaves_the_job_running() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let id = client.run("sleep 600");
    let request = client.ask_tool("wait", json!({"ids": [id]}));
    client.notify("notifications/cancelled", json!({"requestId": request}));
    // The server answers other requests, and never the cancelled one.
    let shown = client.ok("show", json!({"id": id}));
    assert_eq!(shown["job"]["state"], "running");
    assert!(client.others.iter().all(|message| message["id"] != request));
    let begun = Instant::now();
    assert_eq!(client.close(), 0);
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn a_repeated_look_without_news_says_so() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let id = client.run("sleep 600");
    let first = client.tool("show", json!({"id": id}));
    assert_eq!(first["structuredContent"]["unchanged"], Value::Null);
    let again = client.tool("show", json!({"id": id}));
    assert_eq!(again["structuredContent"]["unchanged"], true);
    assert!(text_of(&again).contains("`wait`"));
    client.ok("stop", json!({"ids": [id]}));
    let ended = client.ok("show", json!({"id": id}));
    assert_eq!(ended["unchanged"], Value::Null);
}

#[test]
fn waiting_for_one_of_several_and_for_none() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let long = client.run("sleep 600");
    let short = client.run("exit 2");
    let waited = client.ok("wait", json!({"ids": [long, short], "any": true}));
    assert_eq!(waited["jobs"][1]["exit_code"], 2);
    assert_eq!(waited["still_running"], Value::Null);
    client.ok("stop", json!({"ids": [long]}));
    assert_eq!(client.ok("wait", json!({}))["jobs"], json!([]));
}
