//! A server of an agent whose hooks deliver the news. This process is the agent: the server and the hooks find it
//! as their parent.

use super::client::{Client, ends_in, stateless};
use outlive_testkit::ran::Ran;
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Longer than an agent needs to save what it was handed.
const SETTLED: Duration = Duration::from_millis(250);

/// Calls a hook of the agent's conversation.
fn hook(world: &World, event: &str, more: Value) -> String {
    let mut said = json!({"session_id": "s"});
    let fields = more.as_object().unwrap().clone();
    said.as_object_mut().unwrap().extend(fields);
    let mut hook = world
        .command(["hook", event, "--agent", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    write!(hook.stdin.take().unwrap(), "{said}").unwrap();
    let ran = Ran::end_of(hook);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout
}

/// What the job's record says about who was told.
fn notes(world: &World, id: &str) -> String {
    fs::read_to_string(world.job_dir(id).join("told")).unwrap_or_default()
}

/// Waits until the server has noted that the agent has the reply.
fn until_handed(world: &World, id: &str) {
    until("the agent has it", || {
        notes(world, id).contains("\"handed\"")
    });
}

/// The server calls the tool for this tool call of the agent.
fn call(client: &mut Client, tool_call: &str, tool: &str, arguments: Value) -> Value {
    client.meta = json!({"claudecode/toolUseId": tool_call});
    client.ok(tool, arguments)
}

#[test]
fn what_a_reply_tells_counts_when_the_agent_goes_on() {
    let world = World::new();
    hook(&world, "session-start", json!({"source": "startup"}));
    let mut client = Client::with(&world, &[]);
    let answer = call(
        &mut client,
        "1",
        "run",
        json!({"command": "exit 3", "wait_seconds": 20}),
    );
    let id = answer["job"]["id"].as_str().unwrap().to_owned();
    until_handed(&world, &id);
    // The same call ends for the hooks. It began before the reply, so it shows nothing, and tells nothing.
    assert_eq!(
        hook(&world, "post-tool-use", json!({"duration_ms": 5000})),
        ""
    );
    assert!(!notes(&world, &id).contains("\"told\""));
    sleep(SETTLED);
    assert_eq!(hook(&world, "stop", json!({})), "");
    assert!(notes(&world, &id).contains("\"told\""));
    // The agent ends at once, and is resumed.
    drop(client);
    assert_eq!(
        hook(&world, "session-start", json!({"source": "resume"})),
        ""
    );
}

#[test]
fn what_a_reply_told_is_told_again_if_the_agent_resumes_before_it_goes_on() {
    let world = World::new();
    hook(&world, "session-start", json!({"source": "startup"}));
    let mut client = Client::with(&world, &[]);
    let answer = call(
        &mut client,
        "1",
        "run",
        json!({"command": "exit 3", "wait_seconds": 20}),
    );
    let id = answer["job"]["id"].as_str().unwrap().to_owned();
    until_handed(&world, &id);
    let told = hook(&world, "session-start", json!({"source": "resume"}));
    assert!(told.contains(&format!("[{id}:")), "{told}");
}

#[test]
fn a_helper_only_looks() {
    let world = World::new();
    hook(&world, "session-start", json!({"source": "startup"}));
    let mut client = Client::with(&world, &[]);
    let id = client.run("exit 4");
    world.until_over(&id);
    for (number, (tool, arguments)) in [
        ("inbox", json!({})),
        ("wait", json!({"ids": [id]})),
        ("log", json!({"id": id})),
        ("jobs", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let tool_call = format!("toolu_{number}");
        let about = json!({"tool_use_id": tool_call, "agent_id": "helper"});
        assert_eq!(hook(&world, "pre-tool-use", about), "");
        let answer = call(&mut client, &tool_call, tool, arguments);
        assert_eq!(answer.get("events").is_some(), tool == "inbox", "{answer}");
        assert_eq!(notes(&world, &id), "", "{tool}");
    }
    // The agent itself is told.
    let own = json!({"tool_use_id": "toolu_9"});
    assert_eq!(hook(&world, "pre-tool-use", own), "");
    let answer = call(&mut client, "toolu_9", "inbox", json!({}));
    assert_eq!(ends_in(&answer), [id.as_str()]);
    until_handed(&world, &id);
}

/// opencode's plugin names the caller. Nobody can do that at a server that was not started for it.
#[test]
fn a_plugin_names_the_caller_in_an_argument() {
    let world = World::new();
    let mut client = Client::with(&world, &["--caller-argument"]);
    let caller = |helper: bool| json!({"session": "theirs", "helper": helper});
    let ran = client.ok(
        "run",
        json!({"command": "exit 5", "outlive_caller": caller(false)}),
    );
    let id = ran["job"]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&["show", &id, "--json"])["session"], "theirs");
    world.until_over(&id);
    let jobs = client.ok("jobs", json!({"outlive_caller": caller(false)}));
    assert!(jobs.get("events").is_none(), "the plugin tells it: {jobs}");
    client.ok("inbox", json!({"outlive_caller": caller(true)}));
    assert_eq!(notes(&world, &id), "");
    let own = client.ok("inbox", json!({"outlive_caller": caller(false)}));
    assert_eq!(ends_in(&own), [id.as_str()]);
    until_handed(&world, &id);

    let mut other = Client::with(&world, &["--session", "mine"]);
    let refused = other.request(
        "tools/call",
        json!({"name": "jobs", "arguments": {"outlive_caller": caller(false)}}),
    );
    assert!(!refused.to_string().contains(&id), "{refused}");
}

/// A helper is not told by the hooks, so it is not promised that.
#[test]
fn the_answer_of_run_says_who_is_told() {
    let world = World::new();
    hook(&world, "session-start", json!({"source": "startup"}));
    let mut client = Client::with(&world, &[]);
    let helper = json!({"agent_id": "a1", "tool_use_id": "2"});
    hook(&world, "pre-tool-use", helper);
    for (tool_call, promise) in [
        ("1", "you will be told when it ends"),
        ("2", "your agent is told when it ends"),
    ] {
        let answer = call(
            &mut client,
            tool_call,
            "run",
            json!({"command": "sleep 600"}),
        );
        assert!(answer.to_string().contains(promise), "{answer}");
        client.ok("stop", json!({"ids": [answer["job"]["id"]]}));
    }
}

/// A client that polls a task would hear its end from the task, and once more from the hooks.
#[test]
fn a_foreground_run_that_takes_longer_is_no_task_where_hooks_tell() {
    let world = World::new();
    hook(&world, "session-start", json!({"source": "startup"}));
    let mut client = Client::silent(&world, &["--patience", "1s"]);
    client.meta = stateless();
    client.meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let run = json!({"command": "sleep 600", "wait_seconds": 0.1});
    let ran = client.tool("run", run);
    let job = &ran["structuredContent"]["job"];
    assert_eq!(job["state"], "running", "{ran}");
    client.ok("stop", json!({"ids": [job["id"]]}));
}
