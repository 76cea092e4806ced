//! The transcript in docs/rpc.md is what really happens.

use super::client::Rpc;
use outlive_testkit::world::World;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Whether everything that the page says is so.
fn fits(page: &Value, found: &Value) -> bool {
    match (page, found) {
        (Value::String(any), found) if any == "…" => !found.is_null(),
        (Value::Object(page), Value::Object(found)) => page
            .iter()
            .all(|(key, page)| fits(page, found.get(key).unwrap_or(&Value::Null))),
        (Value::Array(page), Value::Array(found)) => {
            page.len() == found.len()
                && page
                    .iter()
                    .zip(found)
                    .all(|(page, found)| fits(page, found))
        }
        (page, found) => page == found,
    }
}

#[test]
fn the_transcript_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/rpc.md")).unwrap();
    let (_, transcript) = page.split_once("```transcript\n").unwrap();
    let (transcript, _) = transcript.split_once("```").unwrap();
    let world = World::new();
    let mut rpc = Rpc::start(&world);
    let mut raw = Vec::new();
    let mut seen = 0;
    for line in transcript.lines() {
        let bytes = |json: &str| serde_json::from_str::<String>(json).unwrap().into_bytes();
        if let Some(json) = line.strip_prefix(">raw ") {
            rpc.write(&bytes(json));
        } else if let Some(json) = line.strip_prefix("<raw ") {
            assert_eq!(raw, bytes(json), "{line}");
        } else if let Some(text) = line.strip_prefix("> ") {
            rpc.write(format!("{text}\n").as_bytes());
        } else {
            let page: Value = serde_json::from_str(line.strip_prefix("< ").unwrap()).unwrap();
            let found = match page.get("hello") {
                Some(_) => serde_json::json!({"hello": rpc.hello}),
                None => {
                    let message = rpc.next_of(&page["id"]);
                    raw = message.raw;
                    message.json
                }
            };
            assert!(fits(&page, &found), "\npage  {page}\nfound {found}");
            seen += 1;
        }
    }
    assert!(seen > 13, "only {seen} answers are in the transcript");
    assert!(rpc.left().success());
}
