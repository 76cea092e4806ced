//! `watch`, labels and acks by job over MCP.

use super::client::{Client, text_of};
use outlive_testkit::checks::until_wrote;
use outlive_testkit::world::World;
use serde_json::{Value, json};

#[test]
fn a_model_changes_what_a_running_job_reports() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run =
        json!({"command": "echo ERROR 1; cat", "stdin": true, "watch": ["old"], "as": "the build"});
    let job = client.ok("run", run)["job"].clone();
    assert_eq!(job["command"], "the build");
    let id = job["id"].as_str().unwrap();
    until_wrote(&world, id, "ERROR 1\n");
    let asked = json!({"id": id, "watch": ["ERROR"], "look_back": true, "drop": ["*"]});
    let answer = client.tool("watch", asked);
    assert!(
        text_of(&answer).contains("Lines are reported by: \"ERROR\""),
        "{answer}"
    );
    let patterns = &answer["structuredContent"]["watch"]["patterns"];
    assert_eq!(*patterns, json!([{"text": "ERROR"}]));
    let seen = answer.to_string() + &client.tool("jobs", json!({})).to_string();
    assert!(seen.contains("had printed a line"), "{seen}");
    let none = client.ok(
        "watch",
        json!({"id": id, "drop": ["*"], "notify": "failure"}),
    );
    assert_eq!(none.get("watch"), None);
    assert_eq!(world.show(id)["notify"], "failure");
    let refused = client.tool("watch", json!({"id": id, "watch_regex": ["a(b"]}));
    assert_eq!(
        refused["_meta"]["outlive/refused"], "bad_input",
        "{refused}"
    );
}

#[test]
fn a_model_finds_jobs_by_their_labels_and_acks_all_of_a_job() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = |label: &str| json!({"command": "exit 3", "labels": {"suite": label}});
    let first = client.ok("run", run("unit"))["job"]["id"].clone();
    client.ok("run", run("slow"));
    let found = client.ok("jobs", json!({"label": "suite=unit"}));
    let ids: Vec<&Value> = found["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| &job["id"])
        .collect();
    assert_eq!(ids, [&first]);
    let id = first.as_str().unwrap();
    world.wait(id);
    client.ok("inbox", json!({"ack": [id]}));
    assert_eq!(world.show(id)["told"]["state"], "told");
    let bad = client.tool("run", json!({"command": "true", "labels": {"a b": "c"}}));
    assert_eq!(bad["_meta"]["outlive/refused"], "bad_input", "{bad}");
}
