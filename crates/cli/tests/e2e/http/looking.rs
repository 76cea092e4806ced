//! Looking never counts as being told, and whoever may only look sees no secrets and changes nothing.

use super::client::Server;
use outlive_testkit::world::World;
use serde_json::{Value, json};

fn waiting(world: &World) -> usize {
    let inbox = world.json(&["inbox", "--session", "s", "--peek", "--json"]);
    inbox["events"].as_array().unwrap().len()
}

#[test]
fn nothing_that_is_looked_at_counts_as_told() {
    let world = World::new();
    let server = Server::start(&world);
    let run = json!({"command": {"shell": "echo out; exit 3"}, "session": "s"});
    let id = server.ok("run", run)["id"].clone();
    let ended = server.ok("wait", json!({"jobs": [id]}));
    assert_eq!(ended["jobs"][0]["exit_code"], 3);
    server.ok("list", json!({"session": "s"}));
    server.ok("show", json!({"job": id}));
    server.ok("log", json!({"job": id, "part": {"bytes": {"from": 0}}}));
    server.ok("stop", json!({"jobs": [id]}));
    let output = format!(
        "/v1/jobs/{}/output?secrets=show&follow",
        id.as_str().unwrap()
    );
    assert_eq!(server.get(&output).text(), "out\n");
    server.ok("inbox", json!({"session": "s", "timeout_ms": 0}));
    assert_eq!(waiting(&world), 1);
    assert_eq!(
        server.ok("show", json!({"job": id}))["told"]["state"],
        "waiting"
    );
    let event = server.ok("inbox", json!({"session": "s"}))["events"][0]["event"].clone();
    server.ok("inbox/ack", json!({"session": "s", "events": [event]}));
    assert_eq!(waiting(&world), 0);
}

const SECRET: &str = "ghp_0123456789abcdefghijKLMNOPQRSTUVWXYZ";

#[test]
fn secrets_are_hidden_unless_the_owner_asks_for_them() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.shell(&format!("echo token {SECRET}"));
    world.until_over(&id);
    let requests = [
        ("list", json!({})),
        ("show", json!({"job": id})),
        ("log", json!({"job": id})),
        (
            "log",
            json!({"job": id, "form": {"lines": {"matching": "token"}}}),
        ),
    ];
    let asked = |verb: &str, request: &Value, query: &str, headers: &[(&'static str, String)]| {
        server.ask(
            "POST",
            &format!("/v1/{verb}{query}"),
            headers,
            &request.to_string(),
        )
    };
    for (verb, request) in &requests {
        for headers in [server.owner(), server.reader(), server.page()] {
            let answer = asked(verb, request, "", &headers);
            assert_eq!(answer.status, 200);
            assert!(!answer.text().contains(SECRET), "{verb}: {}", answer.text());
        }
        let shown = asked(verb, request, "?secrets=show", &server.owner());
        assert!(shown.text().contains(SECRET), "{verb}: {}", shown.text());
        let refused = asked(verb, request, "?secrets=show", &server.reader());
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (403, &json!("forbidden"))
        );
    }
    let output = format!("/v1/jobs/{id}/output");
    assert!(!server.get(&output).text().contains(SECRET));
    let raw = json!({"job": id, "form": {"page": {"raw": true}}});
    assert_eq!(server.call("log", &raw).0, 400);
}

#[test]
fn a_reader_changes_nothing() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.ok(&[
        "run",
        "--session",
        "s",
        "--stdin",
        "pipe",
        "--",
        "sleep",
        "600",
    ]);
    for (verb, request) in [
        ("run", json!({"command": {"argv": ["true"]}})),
        ("adopt", json!({"pid": 1})),
        ("stop", json!({"jobs": [id]})),
        ("signal", json!({"job": id, "signal": "KILL"})),
        ("send", json!({"job": id, "text": "x"})),
        ("resize", json!({"job": id, "rows": 5, "cols": 5})),
        ("watch", json!({"jobs": [id], "add": [{"text": "x"}]})),
        ("label", json!({"jobs": [id], "set": {"a": "b"}})),
        ("inbox/ack", json!({"session": "s", "delivered": true})),
        ("post", json!({"session": "s", "data": {}})),
        ("session/end", json!({"session": "s"})),
        ("prune", json!({"all": true})),
        ("doctor", json!({})),
        ("place/add", json!({"name": "x", "address": "ssh:x"})),
        ("place/check", json!({})),
        ("place/remove", json!({"place": "x"})),
        ("place/clean", json!({"place": "x"})),
    ] {
        let path = format!("/v1/{verb}");
        let answer = server.ask("POST", &path, &server.reader(), &request.to_string());
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (403, &json!("forbidden")),
            "{verb}"
        );
    }
    assert_eq!(world.show(&id)["state"], "running");
    for (verb, request) in [
        ("list", json!({})),
        ("show", json!({"job": id})),
        ("place/list", json!({})),
    ] {
        let answer = server.ask(
            "POST",
            &format!("/v1/{verb}"),
            &server.reader(),
            &request.to_string(),
        );
        assert_eq!(answer.status, 200, "{verb}: {}", answer.text());
    }
}
