//! The request that adds a place reads back, has its defaults, and hides what may be secret.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use outlive_api::request::AddPlace;
use outlive_api::schemas;
use serde_json::{from_value, json, to_value};
use std::time::Duration;

fn place() -> AddPlace {
    AddPlace {
        name: "gpu".to_owned(),
        address: "ssh:me@gpu1".to_owned(),
        cwd: Some("/data".to_owned()),
        home: Some("~/jobs".to_owned()),
        login: true,
        env: [("TOKEN".to_owned(), "hunter2".to_owned())].into(),
        reach: Some(Duration::from_secs(5)),
        replace: true,
    }
}

#[test]
fn it_reads_back_and_has_its_defaults() {
    let written = to_value(place()).unwrap();
    assert_eq!(from_value::<AddPlace>(written.clone()).unwrap(), place());
    assert_eq!(written["reach_ms"], 5000);
    let all = schemas::requests();
    let named = all.iter().find(|named| named.name == "place_add_request");
    for (key, property) in named.unwrap().schema["properties"].as_object().unwrap() {
        assert_ne!(written.get(key), None, "{key} is not set");
        assert_ne!(written.get(key), property.get("default"), "{key}");
    }
    let least = AddPlace {
        name: "gpu".to_owned(),
        address: "ssh:gpu1".to_owned(),
        ..AddPlace::default()
    };
    let read: AddPlace = from_value(json!({"name": "gpu", "address": "ssh:gpu1"})).unwrap();
    assert_eq!(read, least);
    let mut unknown = written;
    unknown["via"] = json!("x");
    assert!(from_value::<AddPlace>(unknown).is_err());
}

#[test]
fn values_of_variables_are_not_shown() {
    assert!(!format!("{:?}", place()).contains("hunter2"));
}
