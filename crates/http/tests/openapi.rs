//! `docs/api/openapi.json` is what the types make.

use std::path::PathBuf;
use std::{env, fs};

#[test]
fn the_description_on_disk_is_that_of_the_types() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api/openapi.json");
    let described = outlive_http::openapi::description();
    let text = serde_json::to_string_pretty(&described).expect("JSON") + "\n";
    if env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).expect("written");
    }
    let hint = "run `UPDATE_SCHEMAS=1 cargo test -p outlive-http --test openapi` and look at the difference";
    assert!(
        fs::read_to_string(&path).is_ok_and(|found| found == text),
        "{hint}"
    );
}

/// Every reference leads somewhere, and every operation says what it does.
#[test]
fn the_description_is_complete() {
    let described = outlive_http::openapi::description();
    let schemas = &described["components"]["schemas"];
    let text = described.to_string();
    for reference in text.split("\"$ref\":\"").skip(1) {
        let reference = reference.split('"').next().unwrap_or_default();
        let name = reference.strip_prefix("#/components/schemas/");
        assert!(
            name.is_some_and(|name| schemas.get(name).is_some()),
            "{reference}"
        );
    }
    for (path, operations) in described["paths"].as_object().expect("paths") {
        for operation in operations.as_object().expect("operations").values() {
            assert!(operation["summary"].is_string(), "{path}");
        }
    }
}
