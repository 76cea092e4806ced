//! Each verb with the types of the contract, and failures in its shape.

use super::client::Server;
use outlive_testkit::world::World;
use serde_json::json;

#[test]
fn a_job_is_run_watched_labelled_answered_and_stopped() {
    let world = World::new();
    let server = Server::start(&world);
    let script = "read line; echo got $line; sleep 600";
    let run = json!({"command": {"shell": script}, "name": "web", "session": "s", "input": "pipe"});
    let job = server.ok("run", run);
    let id = job["id"].as_str().unwrap();
    assert_eq!(server.ok("list", json!({}))["jobs"][0]["id"], id);
    assert_eq!(server.ok("show", json!({"job": "web"}))["id"], id);
    let waited = server.ok(
        "wait",
        json!({"jobs": ["web"], "what": "input", "timeout_ms": 20_000}),
    );
    assert_eq!(waited["jobs"][0]["awaiting_input"], true);
    let labelled = server.ok("label", json!({"jobs": [id], "set": {"a": "b"}}));
    assert_eq!(labelled["jobs"][0]["labels"], json!({"a": "b"}));
    server.ok("watch", json!({"jobs": [id], "add": [{"text": "got"}]}));
    let send = json!({"job": id, "text": "this", "enter": true, "write_id": "w"});
    assert_eq!(server.ok("send", send.clone())["repeated"], false);
    assert_eq!(server.ok("send", send)["repeated"], true);
    let waited = server.ok(
        "wait",
        json!({"jobs": [id], "what": "match", "timeout_ms": 20_000}),
    );
    assert_eq!(waited["events"][0]["kind"], "matched");
    let page = server.ok("log", json!({"job": id}));
    assert_eq!(page["text"], "got this\n");
    let signal = server.ok("signal", json!({"job": id, "signal": "SIGCONT"}));
    assert!(signal["reached"].as_u64().unwrap() >= 1, "{signal}");
    let stopped = server.ok(
        "stop",
        json!({"select": {"labels": [{"key": "a", "value": "b"}]}, "grace_ms": 5000}),
    );
    assert_eq!(stopped["jobs"][0]["ended_by"], "stop");
    assert_eq!(stopped["jobs"][0]["ended_by_detail"], "outlive serve");
    let waited = server.ok("wait", json!({"jobs": [id]}));
    assert_eq!(waited["jobs"][0]["state"], "ended");
    let pruned = server.ok("prune", json!({"all": true, "force": true}));
    assert_eq!(pruned["removed"], json!([id]));
}

#[test]
fn a_wait_ends_when_its_time_is_up_and_when_its_caller_goes() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.shell("sleep 600");
    let waited = server.ok("wait", json!({"jobs": [id], "timeout_ms": 100}));
    assert_eq!(waited["jobs"][0]["state"], "running");
    // More of them than may wait at once, each given up: the next one has its turn all the same.
    for _ in 0..80 {
        let body = json!({"jobs": [id]}).to_string();
        drop(server.send("POST", "/v1/wait", &server.owner(), &body));
    }
    let waited = server.ok("wait", json!({"jobs": [id], "timeout_ms": 100}));
    assert_eq!(waited["jobs"][0]["state"], "running");
}

#[test]
fn a_terminal_has_a_screen_and_a_size() {
    let world = World::new();
    let server = Server::start(&world);
    let run = json!({"command": {"shell": "printf hello; sleep 600"}, "input": {"pty": {"rows": 5, "cols": 20}}});
    let id = server.ok("run", run)["id"].clone();
    let screen = || server.ok("log", json!({"job": id, "form": "screen"}));
    outlive_testkit::waiting::until("it is drawn", || screen()["text"] == "hello");
    server.ok("resize", json!({"job": id, "rows": 7, "cols": 30}));
    outlive_testkit::waiting::until("it is larger", || screen()["rows"] == 7);
}

#[test]
fn output_comes_as_lines_matches_and_pieces() {
    let world = World::new();
    let server = Server::start(&world);
    let id = world.shell("seq 1 30; echo last >&2");
    world.until_over(&id);
    let lines = |form: serde_json::Value| {
        let request = json!({"job": id, "form": form, "part": {"bytes": {"from": 0}}});
        let answer = server.ask("POST", "/v1/log", &server.owner(), &request.to_string());
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
        let text = answer.text();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<serde_json::Value>>()
    };
    assert_eq!(lines(json!({"lines": {}})).len(), 31);
    let found = lines(json!({"lines": {"matching": "^1.$", "last": 2}}));
    assert_eq!(
        (&found[0]["line"], &found[1]["text"]),
        (&json!(18), &json!("19"))
    );
    let pieces = lines(json!({"pieces": {"follow": true}}));
    let text: String = pieces
        .iter()
        .filter_map(|piece| piece["text"].as_str())
        .collect();
    assert!(
        text.starts_with("1\n2\n") && text.ends_with("30\nlast\n"),
        "{text}"
    );
}

#[test]
fn an_inbox_is_looked_at_acked_and_posted_to() {
    let world = World::new();
    let server = Server::start(&world);
    let post = json!({"session": "s", "data": {"result": "done"}, "id": "p1"});
    assert_eq!(server.ok("post", post.clone())["posted"], true);
    assert_eq!(server.ok("post", post)["posted"], false);
    let look = || server.ok("inbox", json!({"session": "s", "timeout_ms": 0}))["events"].clone();
    let events = look();
    assert_eq!(events[0]["kind"], "delegation");
    assert_eq!(look(), events, "it was only looked at");
    server.ok(
        "inbox/ack",
        json!({"session": "s", "events": [events[0]["event"]]}),
    );
    assert_eq!(look(), json!([]));
    let id = world.ok(&["run", "--session", "s", "--", "true"]);
    world.until_over(&id);
    let ended = server.ok("session/end", json!({"session": "s"}));
    assert_eq!(ended["still_running"], json!([]));
}

#[test]
fn a_failure_has_the_shape_of_the_contract_and_a_status_that_fits() {
    let world = World::new();
    let server = Server::start(&world);
    world.ok(&["run", "--id", "abc1", "--name", "one", "--", "sleep", "600"]);
    world.ok(&["run", "--id", "abc2", "--", "sleep", "600"]);
    for (verb, request, status, code) in [
        ("show", json!({"job": "nobody"}), 404, "no_such_job"),
        ("show", json!({"job": "abc"}), 409, "ambiguous"),
        ("show", json!({"job": "a b"}), 400, "bad_input"),
        ("show", json!({"jobs": "abc1"}), 400, "bad_input"),
        ("run", json!({"command": {"argv": []}}), 400, "bad_input"),
        (
            "run",
            json!({"command": {"argv": ["true"]}, "id": "abc1"}),
            409,
            "id_taken",
        ),
        (
            "run",
            json!({"command": {"argv": ["true"]}, "name": "one"}),
            409,
            "name_taken",
        ),
        ("send", json!({"job": "abc1", "text": "x"}), 409, "refused"),
        (
            "resize",
            json!({"job": "abc1", "rows": 5, "cols": 5}),
            409,
            "refused",
        ),
        (
            "log",
            json!({"job": "abc1", "form": "screen"}),
            409,
            "no_terminal",
        ),
        (
            "log",
            json!({"job": "abc1", "form": {"lines": {"matching": "("}}}),
            400,
            "bad_input",
        ),
        ("stop", json!({}), 400, "bad_input"),
        (
            "inbox/ack",
            json!({"session": "s", "events": ["x:1.abcdef"]}),
            404,
            "no_such_event",
        ),
        (
            "place/check",
            json!({"places": ["nowhere"]}),
            404,
            "no_such_place",
        ),
        ("nothing", json!({}), 404, "no_such_route"),
    ] {
        let (found, reply) = server.call(verb, &request);
        assert_eq!(
            (found, &reply["error"]["code"]),
            (status, &json!(code)),
            "{verb} {request}: {reply}"
        );
        assert!(reply["error"]["message"].is_string(), "{reply}");
    }
    let text = server.ask(
        "POST",
        "/v1/list",
        &[
            &server.owner()[..2],
            &[("Content-Type", "text/plain".to_owned())],
        ]
        .concat(),
        "{}",
    );
    assert_eq!(
        (text.status, &text.json()["error"]["code"]),
        (415, &json!("bad_input"))
    );
    let none = server.ask("POST", "/v1/list", &server.owner(), "{");
    assert_eq!(
        (none.status, &none.json()["error"]["code"]),
        (400, &json!("bad_input"))
    );
    let get = server.get("/v1/run");
    assert_eq!(
        (get.status, &get.json()["error"]["code"]),
        (405, &json!("no_such_route"))
    );
}

#[test]
fn jobs_are_counted_for_prometheus() {
    let world = World::new();
    let server = Server::start(&world);
    let metrics = || server.get("/metrics").text();
    assert!(metrics().contains("outlive_starts_total 0\n"));
    let id = world.ok(&["run", "--session", "s", "--shell", "printf 12345; exit 3"]);
    world.until_over(&id);
    let counted = metrics();
    for line in [
        "outlive_jobs{state=\"ended\"} 1",
        "outlive_ended_jobs{outcome=\"failed\",by=\"itself\"} 1",
        "outlive_ends{told=\"waiting\"} 1",
        "outlive_events_waiting 1",
        "outlive_starts_total 1",
        "outlive_ends_total 1",
        "outlive_output_bytes_total 5",
    ] {
        assert!(
            counted.contains(&format!("{line}\n")),
            "{line} is missing in\n{counted}"
        );
    }
    assert_eq!(metrics(), counted, "nothing is counted twice");
}

#[test]
fn the_routes_are_those_that_are_described() {
    let world = World::new();
    let server = Server::start(&world);
    let described = server
        .ask(
            "GET",
            "/v1/openapi.json",
            &[("Host", server.address.clone())],
            "",
        )
        .json();
    let checked_in = include_str!("../../../../../docs/api/openapi.json");
    let checked_in: serde_json::Value = serde_json::from_str(checked_in).unwrap();
    assert_eq!(described, checked_in);
    for (path, operations) in described["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            let answer = server.ask(&method, path, &[("Host", server.address.clone())], "{}");
            let expected = if path.ends_with("openapi.json") {
                200
            } else {
                401
            };
            assert_eq!(
                answer.status,
                expected,
                "{method} {path}: {}",
                answer.text()
            );
        }
    }
}
