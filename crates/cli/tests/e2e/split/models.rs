//! Split streams for a model: `run` and `log` over MCP.

use crate::mcp::client::{Client, text_of};
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn a_model_reads_one_stream() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let command = "echo out 1; echo error 1 >&2; echo out 2; exit 3";
    let run = json!({"command": command, "streams": "split", "wait_seconds": 20});
    let ran = client.ok("run", run);
    let id = ran["job"]["id"].clone();
    let stderr = client.ok("log", json!({"id": id, "stream": "stderr"}));
    assert_eq!(
        (&stderr["text"], &stderr["total_lines"]),
        (&json!("error 1\n"), &json!(3))
    );
    let found = client.ok("log", json!({"id": id, "stream": "stdout", "grep": "[12]"}));
    let found = found["text"].as_str().unwrap();
    let words: Vec<&str> = found
        .lines()
        .map(|line| line.split_once(": ").unwrap().1)
        .collect();
    assert_eq!(words, ["out 1", "out 2"]);
    let all = client.ok("log", json!({"id": id}));
    assert_eq!(all["text"].as_str().unwrap().lines().count(), 3);
}

#[test]
fn a_model_learns_what_cannot_be_split() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let refused = client.tool(
        "run",
        json!({"command": "true", "streams": "split", "pty": true}),
    );
    assert!(
        text_of(&refused).contains("without a terminal"),
        "{refused}"
    );
    let id = client.run("echo merged");
    let refused = client.tool("log", json!({"id": id, "stream": "stderr"}));
    assert!(
        text_of(&refused).contains("`streams: \"split\"`"),
        "{refused}"
    );
    let refused = client.tool("log", json!({"id": id, "stream": "stdin"}));
    assert!(text_of(&refused).contains("stdout"), "{refused}");
}
