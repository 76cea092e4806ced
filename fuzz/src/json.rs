//! An agent's own JSON file: what setup adds is in it, the rest is unchanged, and removing it restores
//! the original.

use crate::read;
use outlive_kit::fuzzing::{Dialect, parse, remove, set};
use serde_json::{Value, json};

fn value(text: &str, dialect: Dialect) -> Value {
    parse(text, dialect).expect("it was written by us").value()
}

pub fn check(bytes: &[u8]) {
    let Some(text) = read::<&str>(bytes) else {
        return;
    };
    for dialect in [Dialect::Strict, Dialect::Comments] {
        let Ok(before) = parse(text, dialect) else {
            continue;
        };
        let path = ["servers", "outlive"];
        let ours = json!({"command": "outlive", "args": ["mcp"]});
        let Ok(with) = set(text, dialect, &path, &ours) else {
            continue;
        };
        let root = parse(&with, dialect).expect("it was written by us");
        assert_eq!(
            root.find(&path).map(|node| node.value()),
            Some(ours.clone())
        );
        assert_eq!(set(&with, dialect, &path, &ours).expect("again"), with);
        let without = remove(&with, dialect, &path).expect("taken out");
        if before.find(&["servers"]).is_some() && before.find(&path).is_none() {
            assert_eq!(without, text);
        }
        let mut left = value(&without, dialect);
        let mut was = before.value();
        for root in [&mut left, &mut was] {
            if let Some(servers) = root.get_mut("servers").and_then(Value::as_object_mut) {
                servers.remove("outlive");
            }
            if root.get("servers") == Some(&json!({})) {
                root.as_object_mut()
                    .expect("it has members")
                    .remove("servers");
            }
        }
        assert_eq!(left, was);
    }
}
