//! Jobs as tasks, for clients that support the tasks extension.

use super::client::{Client, ends_in, stateless};
use outlive_testkit::waiting::until;
use outlive_testkit::world::World;
use serde_json::{Value, json};
use std::fs::File;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A client of the stateless protocol that declares the extension.
fn client(world: &World, session: &str) -> Client {
    let mut client = Client::silent(world, &["--session", session, "--patience", "1s"]);
    client.meta = stateless();
    client.meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {EXTENSION: {}}});
    client
}

/// Starts a foreground job that ends with 3 once `go` exists; returns the answer.
fn begin(world: &World, client: &mut Client) -> Value {
    let go = world.path("go");
    let script = format!(
        "echo begun; until [ -e {} ]; do sleep 0.02; done; exit 3",
        go.display()
    );
    client.tool("run", json!({"command": script, "wait_seconds": 0.1}))
}

fn get(client: &mut Client, id: &Value) -> Value {
    client.request("tasks/get", json!({"taskId": id}))["result"].clone()
}

fn until_ended(client: &mut Client, id: &Value) -> Value {
    let mut task = Value::Null;
    until("the task is over", || {
        task = get(client, id);
        task["status"] != "working"
    });
    task
}

#[test]
fn a_foreground_run_that_takes_longer_becomes_a_task_and_any_later_server_knows_it() {
    let world = World::new();
    let mut first = client(&world, "s");
    let task = begin(&world, &mut first);
    assert_eq!(
        (&task["resultType"], &task["status"]),
        (&json!("task"), &json!("working"))
    );
    let id = task["taskId"].clone();
    assert_eq!(get(&mut first, &id)["status"], "working");
    // The task was on the disk before the answer, so the server may be killed.
    first.kill();
    File::create(world.path("go")).unwrap();
    let mut second = client(&world, "s");
    let done = until_ended(&mut second, &id);
    // A job that fails is a completed task.
    assert_eq!(done["status"], "completed", "{done}");
    let job = &done["result"]["structuredContent"]["job"];
    assert_eq!((&job["id"], &job["exit_code"]), (&id, &json!(3)));
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("begun"), "{text}");
    // Reading the task counts as being told of the end.
    assert_eq!(ends_in(&second.ok("jobs", json!({}))), Vec::<String>::new());
    assert_eq!(
        get(&mut second, &id)["status"],
        "completed",
        "and it can be asked again"
    );
}

#[test]
fn a_run_that_ends_in_time_or_is_in_the_background_is_no_task() {
    let world = World::new();
    let mut client = client(&world, "s");
    let short = client.ok("run", json!({"command": "exit 4", "wait_seconds": 20}));
    assert_eq!(short["job"]["exit_code"], 4);
    let long = client.ok("run", json!({"command": "sleep 600"}));
    assert_eq!(long["job"]["state"], "running");
    client.ok("stop", json!({"ids": [long["job"]["id"]]}));
}

#[test]
fn a_cancelled_task_is_a_stopped_job() {
    let world = World::new();
    let mut client = client(&world, "s");
    let id = begin(&world, &mut client)["taskId"].clone();
    let cancelled = client.request("tasks/cancel", json!({"taskId": id}));
    assert!(cancelled["result"].is_object(), "{cancelled}");
    assert_eq!(until_ended(&mut client, &id)["status"], "cancelled");
    let job = world.show(id.as_str().unwrap());
    assert_eq!(
        (&job["ended_by"], &job["ended_by_detail"]),
        (&json!("stop"), &json!("tasks/cancel"))
    );
}

#[test]
fn tasks_are_hidden_from_other_sessions_and_from_clients_without_tasks() {
    let world = World::new();
    let mut mine = client(&world, "mine");
    let id = begin(&world, &mut mine)["taskId"].clone();
    let mut other = client(&world, "other");
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let answer = other.request(method, json!({"taskId": id, "inputResponses": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    let mut plain = Client::with(&world, &["--session", "mine", "--patience", "1s"]);
    let ran = plain.ok("run", json!({"command": "sleep 600", "wait_seconds": 0.1}));
    assert_eq!(ran["job"]["state"], "running");
    assert!(plain.request("tasks/get", json!({"taskId": id}))["error"].is_object());
    plain.ok("stop", json!({"ids": [ran["job"]["id"], id]}));
}
