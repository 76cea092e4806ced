//! Outputs as MCP resources.

use super::client::Client;
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn outputs_are_listed_and_read_by_their_own_session_only() {
    let world = World::new();
    let mut mine = Client::of(&world, "mine");
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let run =
        json!({"command": format!("echo out; echo {secret}"), "wait_seconds": 20, "name": "dev"});
    let id = mine.ok("run", run)["job"]["id"].clone();
    let uri = format!("outlive://jobs/{}/output", id.as_str().unwrap());
    let listed = mine.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], uri);
    assert_eq!(listed["result"]["resources"][0]["name"], "dev");
    let templates = mine.request("resources/templates/list", json!({}));
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "outlive://jobs/{id}/output");
    let read = mine.request("resources/read", json!({"uri": uri}));
    let text = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("out\n") && !text.contains(secret),
        "{text}"
    );

    let mut other = Client::of(&world, "other");
    let listed = other.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"], json!([]));
    for uri in [
        uri.as_str(),
        "outlive://jobs/none/output",
        "file:///etc/passwd",
    ] {
        let read = other.request("resources/read", json!({"uri": uri}));
        assert_eq!(read["error"]["code"], -32002, "{read}");
    }
}
