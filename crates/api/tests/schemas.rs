//! The files in `docs/api` are those that the types make.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use outlive_api::schemas;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api")
}

/// Every file that belongs there, with its content.
fn expected() -> BTreeMap<String, String> {
    let schemas = [
        schemas::requests(),
        schemas::replies(),
        schemas::messages(),
        schemas::events(),
    ];
    let schemas = schemas.into_iter().flatten();
    let mut files: BTreeMap<String, String> = schemas
        .map(|named| {
            let text = serde_json::to_string_pretty(&named.schema).unwrap();
            (format!("{}.schema.json", named.name), text + "\n")
        })
        .collect();
    files.insert("README.md".to_owned(), schemas::readme());
    files
}

fn found() -> BTreeMap<String, String> {
    let entries = fs::read_dir(directory()).into_iter().flatten();
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    let found = entries.map(|entry| read(entry.unwrap()));
    // It describes the routes of `outlive serve`, which are compared there.
    found.filter(|(name, _)| name != "openapi.json").collect()
}

#[test]
fn the_schemas_on_disk_are_those_of_the_types() {
    let expected = expected();
    if env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::create_dir_all(directory()).unwrap();
        for name in found().keys().filter(|name| !expected.contains_key(*name)) {
            fs::remove_file(directory().join(name)).unwrap();
        }
        for (name, text) in &expected {
            fs::write(directory().join(name), text).unwrap();
        }
    }
    let found = found();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    let hint = "run `UPDATE_SCHEMAS=1 cargo test -p outlive-api --test schemas` and look at the difference";
    assert_eq!(names(&found), names(&expected), "{hint}");
    for (name, text) in &expected {
        assert_eq!(&found[name], text, "docs/api/{name} differs; {hint}");
    }
}

/// Every schema says what it is, and so does every kind of event and every code.
#[test]
fn everything_is_described() {
    for line in schemas::readme()
        .lines()
        .filter(|line| line.starts_with('|'))
    {
        assert!(!line.contains("|  |"), "no description: {line}");
    }
}
