//! Requests to start a job that are refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use outlive_api::request::Run;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn an_http_sign_with_an_unknown_key_is_refused() {
    let http = json!({"host": "h", "port": 1, "path": "/", "stat": 404});
    let run = json!({"command": {"shell": "make"}, "ready": {"http": http}});
    let refused = serde_json::from_value::<Run>(run).map(|_| "accepted");
    assert!(refused.unwrap_err().to_string().contains("stat"));
}

/// What the command line refuses while it parses, a caller of the library or of JSON may still ask for.
#[test]
fn a_run_that_makes_no_sense_is_refused() {
    let read = |key: &str, value: Value| {
        let mut run = json!({"command": {"shell": "make"}});
        run[key] = value;
        serde_json::from_value::<Run>(run).unwrap().check()
    };
    let http = |port: u16, path: &str| json!({"http": {"host": "h", "port": port, "path": path}});
    for (key, value) in [
        ("input", json!({"pty": {"rows": 0, "cols": 80}})),
        ("input", json!({"pty": {"rows": 24, "cols": 1001}})),
        ("ready", json!({"port": 0})),
        ("ready", json!({"line": ""})),
        ("ready", http(0, "/")),
        ("ready", http(1, "/\r\nX: y")),
        ("ready", http(1, "")),
        ("watch_limit", json!(0)),
        ("quiet_after_ms", json!(0)),
        ("max_output", json!(10)),
        ("watch", json!(vec![json!({"text": "x"}); 201])),
    ] {
        assert!(read(key, value.clone()).is_err(), "{key}: {value}");
    }
    assert_eq!(read("ready", http(1, "/?a=204")), Ok(()));
    assert_eq!(read("max_output", json!(0)), Ok(()));
    let short = Run::shell("make").timeout(Duration::from_micros(500));
    let written = serde_json::to_value(&short).unwrap();
    assert_eq!(written["timeout_ms"], 1, "0 would mean never");
}

#[test]
fn a_run_with_a_text_that_cannot_be_used_is_not_written() {
    let run = Run::shell("make").name("");
    let error = serde_json::to_string(&run).unwrap_err().to_string();
    assert_eq!(error, run.check().unwrap_err().to_string());
    assert_eq!(error, "the name \"\" cannot be used: it is empty");
}
