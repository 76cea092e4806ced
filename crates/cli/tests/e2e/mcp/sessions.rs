//! Sessions are separate, and a repeated call starts no second job.

use super::client::{Client, text_of};
use outlive_testkit::world::World;
use serde_json::{Value, json};

#[test]
fn a_job_of_another_session_is_not_found() {
    let world = World::new();
    let mut mine = Client::of(&world, "mine");
    let mut other = Client::of(&world, "other");
    let answer = mine.ok("run", json!({"command": "sleep 600", "name": "dev"}));
    let id = answer["job"]["id"].as_str().unwrap();
    let calls = [
        ("show", json!({"id": id})),
        ("show", json!({"id": "dev"})),
        ("log", json!({"id": &id[..9]})),
        ("log", json!({"id": id, "grep": "x"})),
        ("wait", json!({"ids": [id]})),
        ("send", json!({"id": id, "eof": true})),
        ("stop", json!({"ids": [id]})),
    ];
    for (tool, arguments) in calls {
        let result = other.tool(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool}");
        assert_eq!(result["_meta"]["outlive/refused"], "no_such_job", "{tool}");
        // The text is the same as for a job that does not exist.
        let text = text_of(&result).replace(&arguments.to_string(), "");
        assert!(text.contains("no job"), "{text}");
    }
    assert_eq!(other.ok("jobs", json!({}))["jobs"], json!([]));
    assert_eq!(
        mine.ok("show", json!({"id": id}))["job"]["state"],
        "running"
    );
    let mut all = Client::with(&world, &["--session", "third", "--all-sessions"]);
    assert_eq!(all.ok("jobs", json!({}))["jobs"][0]["id"], id);
    assert_eq!(all.ok("jobs", json!({}))["jobs"][0]["session"], "mine");
    let stopped = all.ok("stop", json!({"ids": ["dev"]}));
    assert_eq!(stopped["jobs"][0]["ended_by"], "stop");
}

#[test]
fn a_name_means_the_sessions_own_job_though_another_has_a_newer_one() {
    let world = World::new();
    let mut mine = Client::of(&world, "mine");
    let run = json!({"command": "sleep 600", "name": "dev"});
    let own = mine.ok("run", run.clone())["job"]["id"].clone();
    let mut other = Client::of(&world, "other");
    assert_ne!(other.ok("run", run)["job"]["id"], own);
    assert_eq!(mine.ok("show", json!({"id": "dev"}))["job"]["id"], own);
}

fn session_of(world: &World, client: &mut Client) -> Value {
    let id = client.run("true");
    world.show(&id)["session"].clone()
}

#[test]
fn the_session_comes_from_the_wire_or_the_environment() {
    let world = World::new();
    let mut client = Client::with(&world, &[]);
    let made = session_of(&world, &mut client);
    assert!(made.as_str().unwrap().starts_with("mcp-"), "{made}");
    client.meta = json!({"threadId": "thread", "sessionId": "session"});
    assert_eq!(session_of(&world, &mut client), "thread");
    client.meta = json!({"sessionId": "session"});
    assert_eq!(session_of(&world, &mut client), "session");
    client.meta = json!({"threadId": "x".repeat(200)});
    let refused = client.tool("jobs", json!({}));
    assert_eq!(refused["_meta"]["outlive/refused"], "bad_input");
}

/// Codex names its thread in each request. A person who sets OUTLIVE_SESSION for it means all its jobs, and the hooks
/// of Codex obey that too.
#[test]
fn a_session_that_a_person_set_for_the_agent_comes_before_the_one_of_a_request() {
    let world = World::new();
    let mut command = world.command(["mcp"]);
    command.env("OUTLIVE_SESSION", "mine");
    let mut client = Client::to(command);
    client.initialize("2025-06-18");
    client.meta = json!({"threadId": "thread"});
    assert_eq!(session_of(&world, &mut client), "mine");
    // An agent's own variable does not change when its conversation does.
    let mut command = world.command(["mcp"]);
    command.env("CODEX_THREAD_ID", "older");
    let mut client = Client::to(command);
    client.initialize("2025-06-18");
    assert_eq!(session_of(&world, &mut client), "older");
    client.meta = json!({"threadId": "thread"});
    assert_eq!(session_of(&world, &mut client), "thread");
}

#[test]
fn a_repeated_call_starts_no_second_job() {
    let world = World::new();
    let run = json!({"command": "sleep 600"});
    let mut client = Client::with(&world, &[]);
    client.meta = json!({"threadId": "t", "callId": "call_1"});
    let first = client.ok("run", run.clone());
    assert_eq!(first["already"], Value::Null);
    // The client may not know whether the first call succeeded.
    client.kill();
    let mut client = Client::with(&world, &[]);
    client.meta = json!({"threadId": "t", "callId": "call_1"});
    let again = client.ok("run", run.clone());
    assert_eq!(again["already"], true);
    assert_eq!(again["job"]["id"], first["job"]["id"]);
    client.meta = json!({"threadId": "t", "callId": "call_2"});
    let next = client.ok("run", run);
    assert_ne!(next["job"]["id"], first["job"]["id"]);
    // Some models number their calls from the start each time. A call counts as repeated only if its arguments are the
    // same.
    let other = client.ok("run", json!({"command": "sleep 601"}));
    assert_eq!(other["already"], Value::Null);
    assert_eq!(world.listed(&["--state", "running"]).len(), 3);
}

#[test]
fn a_repeated_send_is_written_once() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let run = json!({"command": "cat", "stdin": true, "name": "cat"});
    client.ok("run", run);
    client.meta = json!({"callId": "call_9"});
    for repeated in [false, true] {
        let sent = client.tool("send", json!({"id": "cat", "text": "once\n"}));
        let marked = sent["structuredContent"]["repeated"] == true;
        assert_eq!(marked, repeated, "{sent}");
        let said = text_of(&sent);
        assert_eq!(said.contains("was made before"), repeated, "{said}");
    }
    client.meta = json!({});
    client.ok("send", json!({"id": "cat", "eof": true}));
    client.ok("wait", json!({"ids": ["cat"]}));
    assert_eq!(client.ok("log", json!({"id": "cat"}))["text"], "once\n");
}
