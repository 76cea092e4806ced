use super::*;
use proptest::prelude::*;
use serde_json::json;

const BOTH: [Dialect; 2] = [Dialect::Strict, Dialect::Comments];

fn server() -> Value {
    json!({"command": "outlive", "args": ["mcp"]})
}

/// Puts everything in that setup does, and takes it out again.
fn there_and_back(text: &str, dialect: Dialect) -> Result<(String, String), Bad> {
    let root = parse(text, dialect)?;
    let had = |path: &[&str]| root.find(path).is_some();
    let put = set(text, dialect, &["mcp", "outlive"], &server())?;
    let put = push(&put, dialect, &["hooks", "Stop"], &json!({"command": "x"}))?;
    let mut back = remove_elements(&put, dialect, &["hooks", "Stop"], |value| {
        value["command"] == "x"
    })?;
    for path in [&["hooks", "Stop"][..], &["hooks"]] {
        if !had(path) {
            back = remove(&back, dialect, path)?;
        }
    }
    back = remove(&back, dialect, &["mcp", "outlive"])?;
    if !had(&["mcp"]) {
        back = remove(&back, dialect, &["mcp"])?;
    }
    Ok((put, back))
}

#[test]
fn it_comes_last_and_in_the_files_own_layout() {
    let text = "{\n    \"a\": 1,\n    \"mcp\": {\n        \"x\": {}\n    }\n}\n";
    let put = set(text, Dialect::Strict, &["mcp", "outlive"], &server()).unwrap();
    let expected = "{\n    \"a\": 1,\n    \"mcp\": {\n        \"x\": {},\n        \"outlive\": {\n            \"args\": [\"mcp\"],\n            \"command\": \"outlive\"\n        }\n    }\n}\n";
    assert_eq!(put, expected);
    let again = set(&put, Dialect::Strict, &["mcp", "outlive"], &server()).unwrap();
    assert_eq!(again, put);
}

#[test]
fn odd_files_come_back_as_they_were() {
    for text in [
        "{}",
        "{ }",
        "{\n}",
        "{\r\n\t\"a\":1\r\n}\r\n",
        "{\"a\":1,\"mcp\":{},\"hooks\":{\"Stop\":[]}}",
        "{\"a\" :[1,2 , 3]\n,\"mcp\"\n:{ \"o\":{} }  }  \n\n",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"command\": \"mine\"}\n\t\t]\n\t}\n}",
        "\u{feff}{\n  \"é\\\"\\\\\": \"}\"\n}",
        "{\n  \"mcp\": {\n  },\n  \"hooks\": {\n    \"Stop\": [\n    ]\n  }\n}\n",
    ] {
        for dialect in BOTH {
            let (put, back) = there_and_back(text, dialect).unwrap();
            assert_ne!(put, text);
            assert_eq!(back, text, "by way of {put}");
            let value = parse(&put, dialect).unwrap().value();
            assert_eq!(value["mcp"]["outlive"], server(), "{put}");
        }
    }
}

#[test]
fn comments_and_last_commas_stay() {
    for text in [
        "// mine\n{\n  // why\n  \"a\": 1, // one\n  \"b\": 2, /* two */\n}\n",
        "{\n  \"mcp\": {\n    // none yet\n  },\n}",
        "{\"a\": [1, 2,], }",
    ] {
        assert!(parse(text, Dialect::Strict).is_err());
        let (put, back) = there_and_back(text, Dialect::Comments).unwrap();
        assert_eq!(back, text, "by way of {put}");
        for comment in ["mine", "why", "one", "two"] {
            assert_eq!(text.contains(comment), put.contains(comment));
        }
    }
}

/// What the user wrote around our entries meanwhile stays.
#[test]
fn only_ours_goes() {
    let text = "{\n  \"outlive\": 1,\n  \"b\": 2\n}";
    let left = remove(text, Dialect::Strict, &["outlive"]).unwrap();
    assert_eq!(left, "{\n  \"b\": 2\n}");
    let text = "{\n  \"a\": 1, // about a\n  \"outlive\": 1,\n  \"b\": 2\n}";
    let left = remove(text, Dialect::Comments, &["outlive"]).unwrap();
    assert!(left.contains("// about a"), "{left}");
    let value = parse(&left, Dialect::Comments).unwrap().value();
    assert_eq!(value, json!({"a": 1, "b": 2}));
}

#[test]
fn what_does_not_parse_is_refused_with_its_line() {
    for (text, line) in [
        ("", 1),
        ("{\n\"a\": 1\n\"b\": 2}", 3),
        ("{\n\"a\": }", 2),
        ("{\"a\": 1,\n}", 2),
        ("{\n\n'a': 1}", 3),
        ("{} x", 1),
        ("{\"a\": \"\n", 1),
        ("[1, 2", 1),
    ] {
        let bad = parse(text, Dialect::Strict).unwrap_err();
        assert_eq!(bad.line, line, "{text:?}: {bad:?}");
    }
    assert!(parse(&"[".repeat(100_000), Dialect::Strict).is_err());
    let bad = set("{\n\"mcp\": []}", Dialect::Strict, &["mcp", "o"], &server()).unwrap_err();
    assert_eq!(
        (bad.line, bad.reason.as_str()),
        (2, "this should be an object")
    );
}

/// JSON in any layout.
fn odd_json() -> impl Strategy<Value = String> {
    let blank = "[ \t\n]{0,3}";
    let leaf = prop_oneof![
        Just("null".to_owned()),
        "-?[1-9][0-9]{0,3}",
        "\"[a-z\u{e4} {}\\[\\],:/]{0,6}\"",
    ];
    let value = leaf.prop_recursive(3, 24, 4, move |inner| {
        let padded = (blank, inner, blank).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let member = (blank, "[a-z]{1,4}|mcp|hooks|Stop", blank, padded.clone())
            .prop_map(|(a, key, b, value)| format!("{a}\"{key}\"{b}:{value}"));
        prop_oneof![
            (prop::collection::vec(padded, 0..4), blank).prop_map(|(items, blank)| {
                match items.is_empty() {
                    true => format!("[{blank}]"),
                    false => format!("[{}]", items.join(",")),
                }
            }),
            (prop::collection::vec(member, 0..4), blank).prop_map(|(items, blank)| {
                match items.is_empty() {
                    true => format!("{{{blank}}}"),
                    false => format!("{{{}}}", items.join(",")),
                }
            }),
        ]
    });
    (blank, value, blank).prop_map(|(a, value, b)| format!("{a}{value}{b}"))
}

proptest! {
    #[test]
    fn the_parser_agrees_with_the_usual_one(text in odd_json()) {
        let value: Value = serde_json::from_str(&text).unwrap();
        for dialect in BOTH {
            prop_assert_eq!(parse(&text, dialect).unwrap().value(), value.clone());
        }
    }

    #[test]
    fn there_and_back_gives_the_same_bytes(text in odd_json()) {
        if let Ok((put, back)) = there_and_back(&text, Dialect::Strict) {
            prop_assert_eq!(back, text);
            let value: Value = serde_json::from_str(&put).unwrap();
            prop_assert_eq!(&value["mcp"]["outlive"], &server());
        }
    }

    #[test]
    fn nothing_makes_it_panic(text in "[{}\\[\\]\",:/*a1\\\\\n\u{e4} ]{0,40}") {
        for dialect in BOTH {
            let _ = there_and_back(&text, dialect);
        }
    }
}
