//! Both versions of the handshake, and the end of the input.

use super::client::{Client, stateless};
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::time::Instant;

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

const TOOLS: [&str; 9] = [
    "run", "jobs", "show", "log", "wait", "send", "stop", "watch", "inbox",
];

#[test]
fn clients_that_initialize_are_served() {
    for version in ["2025-06-18", "2025-11-25"] {
        let world = World::new();
        let mut client = Client::silent(&world, &[]);
        let answer = client.initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"]["name"], "outlive");
        let instructions = answer["result"]["instructions"].as_str().unwrap();
        assert!(instructions.contains("nohup"));
        assert_eq!(names(&client.request("tools/list", json!({}))), TOOLS);
        assert_eq!(client.ok("jobs", json!({}))["jobs"], json!([]));
        assert_eq!(client.close(), 0);
    }
}

/// A model reads up to three texts about the same thing: the instructions of the server, the description of `run` and
/// the skill, which setup also writes into files such as AGENTS.md.
#[test]
fn every_instruction_names_the_same_tool_from_the_same_length_on() {
    let skill = include_str!("../../../../../SKILL.md");
    let world = World::new();
    let mut client = Client::silent(&world, &[]);
    let answer = client.initialize("2025-11-25");
    let listed = client.request("tools/list", json!({}));
    let texts = [
        skill,
        answer["result"]["instructions"].as_str().unwrap(),
        listed["result"]["tools"][0]["description"]
            .as_str()
            .unwrap(),
    ];
    for text in texts {
        let text = text.replace('\n', " ");
        assert!(text.contains("may take longer than a minute"), "{text}");
    }
    // The shell is named only for those who have no tools: Codex refuses `outlive run` in its sandbox.
    let (tools, shell) = skill
        .split_once("Only if you do not have these tools")
        .unwrap();
    assert!(!tools.contains("outlive run") && shell.contains("outlive run"));
}

#[test]
fn clients_that_only_discover_are_served() {
    let world = World::new();
    let mut client = Client::silent(&world, &["--compat"]);
    client.meta = stateless();
    let found = client.request("server/discover", json!({}));
    let versions = found["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{found}");
    let listed = client.request("tools/list", json!({}));
    assert_eq!(names(&listed), [&TOOLS[..], &["process"]].concat());
    let ran = client.tool("run", json!({"command": "exit 3", "wait_seconds": 10}));
    assert_eq!(ran["structuredContent"]["job"]["exit_code"], 3);
    assert_eq!(ran["resultType"], "complete");
    assert_eq!(client.close(), 0);
}

#[test]
fn an_unsupported_method_is_refused() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let argument = json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}});
    for (method, params) in [
        ("prompts/list", json!({})),
        ("completion/complete", argument),
    ] {
        let answer = client.request(method, params);
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[test]
fn tools_say_what_they_do_to_the_world() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let listed = client.request("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let hints = &tool["annotations"];
        let name = tool["name"].as_str().unwrap();
        let reads = ["jobs", "show", "log", "wait"].contains(&name);
        assert_eq!(hints["readOnlyHint"], reads, "{name}");
        let destroys = ["run", "send", "stop"].contains(&name);
        assert_eq!(hints["destructiveHint"], destroys, "{name}");
        // Claude Code hides the other tools until its model searches for them.
        let always = tool["_meta"]["anthropic/alwaysLoad"] == true;
        assert_eq!(always, ["run", "wait"].contains(&name), "{name}");
    }
}

#[test]
fn the_end_of_the_input_ends_the_server_and_no_job() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let id = client.run("sleep 600");
    // A request that still waits does not keep the server running.
    client.ask_tool("wait", json!({"ids": [id]}));
    let begun = Instant::now();
    assert_eq!(client.close(), 0);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    assert_eq!(world.show(&id)["state"], "running");
}

#[test]
fn a_server_that_is_never_spoken_to_ends_with_its_input() {
    let world = World::new();
    assert_eq!(Client::silent(&world, &[]).close(), 0);
}

/// A client that cuts an emoji in two leaves half of a surrogate pair. The request has an ID, and the client waits for
/// an answer with that ID.
#[test]
fn a_request_with_a_broken_string_is_refused_under_its_id() {
    let world = World::new();
    let mut client = Client::silent(&world, &["--session", "s"]);
    client.initialize("2025-06-18");
    let call = |id: &str, command: &str| {
        let params = format!(r#"{{"name":"run","arguments":{{"command":"echo {command}"}}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    client.write_line(&call("77", r"\ud83d cut"));
    client.write_line(&call("\"text\"", r"\ud800"));
    assert_eq!(client.ok("jobs", json!({}))["jobs"], json!([]));
    let told = client.others.iter();
    let told: Vec<(&Value, &Value)> = told
        .map(|other| (&other["id"], &other["error"]["code"]))
        .collect();
    let refused = json!(-32700);
    assert_eq!(told, [(&json!(77), &refused), (&json!("text"), &refused)]);
    assert_eq!(client.close(), 0);
}

#[test]
fn malformed_messages_are_answered_and_survived() {
    let world = World::new();
    let mut client = Client::silent(&world, &["--session", "s"]);
    client.write_line("nor is this JSON");
    client.initialize("2025-06-18");
    client.write_line("this is not JSON");
    client.write_line("");
    client.write_line("{\"jsonrpc\": \"2.0\", \"id\": 77, \"method\": \"no/such\"}");
    assert_eq!(client.ok("jobs", json!({}))["jobs"], json!([]));
    let codes = client.others.iter().map(|other| &other["error"]["code"]);
    let codes: Vec<&Value> = codes.collect();
    assert_eq!(codes, [-32700, -32700, -32601], "{:?}", client.others);
    let words = client.others[0]["error"]["message"].as_str().unwrap();
    assert!(words.starts_with("not valid JSON"), "{words}");
    assert_eq!(client.close(), 0);
}
