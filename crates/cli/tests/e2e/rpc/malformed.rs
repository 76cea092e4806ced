//! Whatever is written to it: a clear error with the id, and never a dead child.

use super::client::Rpc;
use outlive_testkit::world::World;
use serde_json::{Value, json};

/// The error that comes for this line.
#[track_caller]
fn error(rpc: &mut Rpc, line: &[u8], id: &Value) -> String {
    rpc.write(&[line, b"\n"].concat());
    let message = rpc.next_of(id).json;
    assert_eq!(message["error"]["code"], "bad_input", "{message}");
    message["error"]["message"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_no_request_gets_an_error_that_says_what_is_wrong() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    for (line, id, says) in [
        (&b"nonsense"[..], Value::Null, "not JSON"),
        (b"{}", Value::Null, "one of the keys"),
        (b"[]", Value::Null, "JSON object"),
        (b"\xff\xfe", Value::Null, "UTF-8"),
        (b"{\"id\":\"a\",\"verb\":\"sh\xffow\"}", json!("a"), "UTF-8"),
        (
            br#"{"id":"b","verb":"shwo"}"#,
            json!("b"),
            "the verbs are run, ",
        ),
        (
            br#"{"id":"c","verb":"show"}"#,
            json!("c"),
            "missing field `job`",
        ),
        (
            br#"{"id":"d","verb":"show","request":{"job":"x","y":1}}"#,
            json!("d"),
            "unknown field `y`",
        ),
        (
            br#"{"id":"e","verb":"show","request":{"job":"../x"}}"#,
            json!("e"),
            "job id",
        ),
        (
            br#"{"id":"f","verb":"show","wat":1}"#,
            json!("f"),
            "unknown field `wat`",
        ),
        (
            br#"{"id":"g","verb":"list","request":7}"#,
            json!("g"),
            "list",
        ),
        (br#"{"id":[],"verb":"list"}"#, Value::Null, "an id is"),
        (
            br#"{"id":"i","verb":"list","request":{"state":"\ud800"}}"#,
            json!("i"),
            "JSON",
        ),
    ] {
        let shown = String::from_utf8_lossy(line).into_owned();
        let message = error(&mut rpc, line, &id);
        assert!(message.contains(says), "{shown}: {message}");
    }
    assert_eq!(
        rpc.reply("list", json!({}))["jobs"],
        json!([]),
        "it lives on"
    );
}

#[test]
fn lines_and_raw_bytes_that_are_too_long_are_passed_over() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let long = "x".repeat(17 << 20);
    let line = format!(r#"{{"id":"long","verb":"list","request":{{"task":"{long}"}}}}"#);
    assert!(error(&mut rpc, line.as_bytes(), &json!("long")).contains("16 MiB"));
    let head = format!(
        "{{\"id\":\"raw\",\"verb\":\"send\",\"bytes\":{}}}\n",
        long.len()
    );
    rpc.write(head.as_bytes());
    let message = error(&mut rpc, long.as_bytes(), &json!("raw"));
    assert!(message.contains("raw bytes"), "{message}");
    let unwanted = error(
        &mut rpc,
        b"{\"id\":\"no\",\"verb\":\"list\",\"bytes\":4}\nabcd",
        &json!("no"),
    );
    assert!(unwanted.contains("only `send`"), "{unwanted}");
    assert_eq!(
        rpc.reply("list", json!({}))["jobs"],
        json!([]),
        "it lives on"
    );
}

#[test]
fn an_id_names_one_request_at_a_time() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let job = rpc.shell("sleep 60");
    let wait = json!({"id": "w", "verb": "wait", "request": {"jobs": [job]}});
    rpc.say(&wait);
    let message = error(&mut rpc, wait.to_string().as_bytes(), &Value::Null);
    assert!(message.contains("not answered yet"), "{message}");
    rpc.say(&json!({"cancel": "w"}));
    assert_eq!(rpc.next_of(&json!("w")).json["error"]["code"], "canceled");
    rpc.say(&json!({"id": "w", "verb": "list"}));
    let listed = rpc.next_of(&json!("w")).json;
    assert!(
        listed["reply"]["jobs"].is_array(),
        "the id is free again: {listed}"
    );
}

#[test]
fn what_is_said_of_no_request_is_ignored() {
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    rpc.say(&json!({"cancel": 99}));
    rpc.say(&json!({"taken": 99, "sent": 7}));
    rpc.say(&json!({"told": 99}));
    rpc.write(b"\n \r\n");
    assert_eq!(rpc.reply("list", json!({}))["jobs"], json!([]));
    assert!(rpc.left().success());
    assert!(rpc.rest().is_empty(), "nothing else was said");
}
