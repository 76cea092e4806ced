//! Outside work as text: all of it, so that it stands alone.

use super::redacted;
use crate::view;
use outlive_core::post::Post;
use serde_json::Value;

/// The words for what a piece of outside work usually has, in the order they are read.
const PARTS: [(&str, &str); 8] = [
    ("role", "Role"),
    ("goal", "Goal"),
    ("context", "Context"),
    ("status", "Status"),
    ("error", "Error"),
    ("summary", "Summary"),
    ("result", "Result"),
    ("output", "Output"),
];

/// Everything that was posted, so that it stands alone: what is known by name first, then the rest.
pub fn delegation(post: &Post) -> String {
    let mut text = format!("Delegated work {} is done.", post.id);
    part(&mut text, &redacted(post.data.clone()), 0);
    text
}

fn part(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    let Some(entries) = value.as_object() else {
        text.push_str(&format!("\n{indent}{}", plain(value, depth)));
        return;
    };
    for (key, word) in PARTS {
        if let Some(value) = entries.get(key).filter(|value| !value.is_null()) {
            text.push_str(&format!("\n{indent}{word}: {}", plain(value, depth)));
        }
    }
    for (key, value) in entries {
        if key != "results" && !PARTS.iter().any(|(known, _)| known == key) && !value.is_null() {
            text.push_str(&format!("\n{indent}{key}: {}", plain(value, depth)));
        }
    }
    let results = entries.get("results").and_then(Value::as_array);
    for (number, result) in results.into_iter().flatten().enumerate() {
        text.push_str(&format!("\n{indent}Result {}:", number + 1));
        part(text, result, depth + 1);
    }
}

/// A value as text is read: strings as lines without escape sequences, anything else as JSON.
fn plain(value: &Value, depth: usize) -> String {
    let indent = format!("\n{}", "  ".repeat(depth + 1));
    match value {
        Value::String(text) => {
            let lines = text.trim_end().split('\n');
            let lines: Vec<_> = lines.map(|line| view::line(line.as_bytes())).collect();
            lines.join(&indent)
        }
        other => other.to_string(),
    }
}
