//! Each end is told once, through the death of any server.

use super::client::{Client, ends_in, text_of};
use crate::world::World;
use serde_json::{Value, json};

/// A job that goes on with `rest` only once its reply is there, so that nothing of that is in it.
fn run_then(world: &World, client: &mut Client, rest: &str, more: Value) -> String {
    let gate = world.path("gate");
    let _ = std::fs::remove_file(&gate);
    let wait = format!("until [ -e {} ]; do sleep 0.02; done", gate.display());
    let mut run = more;
    run["command"] = json!(format!("{wait}; {rest}"));
    let answer = client.ok("run", run);
    std::fs::write(&gate, "").unwrap();
    answer["job"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_killed_servers_job_is_found_by_the_next_and_its_end_told_once() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let gate = world.path("gate");
    let script = format!(
        "until [ -e {} ]; do sleep 0.02; done; echo done",
        gate.display()
    );
    let id = client.run(&script);
    client.kill();
    std::fs::write(&gate, "").unwrap();
    // By somebody else's look, so that nothing is told by it.
    world.until_over(&id);

    let mut client = Client::of(&world, "s");
    let result = client.tool("jobs", json!({}));
    let answer = &result["structuredContent"];
    assert_eq!(answer["jobs"][0]["id"], id.as_str());
    assert_eq!(answer["jobs"][0]["exit_code"], 0);
    assert_eq!(ends_in(answer), [id.as_str()]);
    assert!(text_of(&result).contains("While you were away"));
    for _ in 0..3 {
        assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    }
    assert_eq!(client.close(), 0);
    let mut client = Client::of(&world, "s");
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    assert_eq!(client.ok("inbox", json!({}))["events"], json!([]));
}

#[test]
fn a_server_killed_before_it_could_note_tells_nothing_twice_at_once() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let id = run_then(&world, &mut client, "true", json!({}));
    world.until_over(&id);
    let inbox = |held: &str| {
        world
            .outlive(&["inbox", "--session", "s", "--json", held])
            .stdout
    };
    assert!(inbox("--peek").contains("ended"));
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [id.as_str()]);
    client.kill();
    // Told or still claimed: nobody is given it now.
    assert!(!inbox("--quiet").contains("ended"));
}

#[test]
fn what_a_reply_tells_by_itself_is_not_told_beside_it() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    for (command, tool) in [("true", "wait"), ("false", "stop")] {
        let id = client.run(command);
        let answer = client.ok(tool, json!({"ids": [id]}));
        assert_eq!(answer["jobs"][0]["state"], "ended");
        assert_eq!(ends_in(&answer), [""; 0], "{tool}");
        assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0], "{tool}");
    }
    let ran = client.ok("run", json!({"command": "exit 7", "wait_seconds": 10}));
    assert_eq!(ran["job"]["exit_code"], 7);
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    // A look is not being told, but is not repeated at once either.
    let id = run_then(&world, &mut client, "true", json!({}));
    world.until_over(&id);
    assert_eq!(ends_in(&client.ok("show", json!({"id": id}))), [""; 0]);
    assert_eq!(ends_in(&client.ok("jobs", json!({}))), [""; 0]);
    let taken = client.ok("inbox", json!({}));
    assert_eq!(ends_in(&taken), [id.as_str()]);
}

#[test]
fn the_inbox_is_taken_and_acked() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    run_then(&world, &mut client, "exit 5", json!({}));
    let held = client.ok("inbox", json!({"wait_seconds": 10, "hold": true}));
    let event = held["events"][0]["event"].as_str().unwrap();
    assert_eq!(held["events"][0]["data"]["exit_code"], 5);
    // It is claimed, so nobody else is given it, and it is not told yet.
    assert_eq!(client.ok("inbox", json!({}))["events"], json!([]));
    let peeked = world.ok(&["inbox", "--session", "s", "--peek", "--json"]);
    assert!(!peeked.contains("exited"), "{peeked}");
    client.ok("inbox", json!({"ack": [event]}));
    let inboxes = world.home().join("inbox").join("s");
    assert!(
        !inboxes
            .join(held["events"][0]["job"].as_str().unwrap())
            .exists()
    );
    let refused = client.tool("inbox", json!({"ack": ["nonsense"]}));
    assert_eq!(refused["_meta"]["outlive/refused"], "bad_input");
}

#[test]
fn watched_lines_are_told_with_whatever_is_asked_next() {
    let world = World::new();
    let mut client = Client::of(&world, "s");
    let watch = json!({"watch": ["ERROR"]});
    let rest = "echo fine; echo ERROR 42; sleep 600";
    let id = run_then(&world, &mut client, rest, watch);
    let waited = client.ok("wait", json!({"ids": [id], "for": "match"}));
    assert_eq!(waited["still_running"], false);
    assert_eq!(waited["events"][0]["kind"], "matched");
    assert_eq!(waited["events"][0]["data"]["line"], "ERROR 42");
}
