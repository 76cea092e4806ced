//! Changes one thing in the text of a JSON file.
//!
//! A new item becomes the last one, with the file's own indentation. Removing it restores the original
//! bytes.

use super::{Bad, Dialect, Kind, Node, parse};
use serde_json::{Map, Value};
use std::ops::Range;

/// Sets the member at `path`, and creates the objects on the way.
pub fn set(text: &str, dialect: Dialect, path: &[&str], value: &Value) -> Result<String, Bad> {
    let root = parse(text, dialect)?;
    if let Some(old) = root.find(path) {
        if old.value() == *value {
            return Ok(text.to_owned());
        }
        let indent = indent_at(text, old.span.start);
        let new = pretty(value, &indent, &Style::of(text, &root));
        return Ok(replaced(text, old.span.clone(), &new));
    }
    let (there, missing) = deepest(&root, path);
    let Some((key, inner)) = missing.split_first() else {
        return Ok(text.to_owned());
    };
    let value = inner.iter().rev().fold(value.clone(), |value, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), value)]))
    });
    match &there.kind {
        Kind::Object(members) => {
            let spans: Vec<Range<usize>> = members
                .iter()
                .map(|member| member.start..member.value.span.end)
                .collect();
            let style = Style::of(text, &root);
            Ok(insert(text, there, &spans, Some(key), &value, &style))
        }
        Kind::Array(_) | Kind::Scalar(_) => Err(not_a(text, there, "an object")),
    }
}

/// Puts these bytes, which are one value, into the place of the value at `path`, if there is one.
pub fn restore(text: &str, dialect: Dialect, path: &[&str], bytes: &str) -> Result<String, Bad> {
    let root = parse(text, dialect)?;
    Ok(match root.find(path) {
        Some(old) => replaced(text, old.span.clone(), bytes),
        None => text.to_owned(),
    })
}

/// Appends to the array at `path`, and creates the array if needed.
pub fn push(text: &str, dialect: Dialect, path: &[&str], value: &Value) -> Result<String, Bad> {
    let root = parse(text, dialect)?;
    match root.find(path) {
        None => set(text, dialect, path, &Value::Array(vec![value.clone()])),
        Some(node) => match &node.kind {
            Kind::Array(elements) => {
                let spans: Vec<Range<usize>> =
                    elements.iter().map(|node| node.span.clone()).collect();
                let style = Style::of(text, &root);
                Ok(insert(text, node, &spans, None, value, &style))
            }
            Kind::Object(_) | Kind::Scalar(_) => Err(not_a(text, node, "an array")),
        },
    }
}

/// Removes the member at `path`, if it exists.
pub fn remove(text: &str, dialect: Dialect, path: &[&str]) -> Result<String, Bad> {
    let root = parse(text, dialect)?;
    let Some((key, outer)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let Some(Node {
        kind: Kind::Object(members),
        span,
    }) = root.find(outer)
    else {
        return Ok(text.to_owned());
    };
    let spans: Vec<Range<usize>> = members
        .iter()
        .map(|member| member.start..member.value.span.end)
        .collect();
    match members.iter().rposition(|member| member.key == *key) {
        Some(index) => Ok(take_out(text, span.start, &spans, index)),
        None => Ok(text.to_owned()),
    }
}

/// Removes the elements for which `is_meant` is true from the array at `path`.
pub fn remove_elements(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    is_meant: impl Fn(&Value) -> bool,
) -> Result<String, Bad> {
    let mut text = text.to_owned();
    loop {
        let root = parse(&text, dialect)?;
        let Some(array) = root.find(path) else {
            return Ok(text);
        };
        let elements = array.elements();
        let Some(index) = elements.iter().rposition(|node| is_meant(&node.value())) else {
            return Ok(text);
        };
        let spans: Vec<Range<usize>> = elements.iter().map(|node| node.span.clone()).collect();
        text = take_out(&text, array.span.start, &spans, index);
    }
}

fn not_a(text: &str, node: &Node, what: &str) -> Bad {
    let before = &text.as_bytes()[..node.span.start];
    Bad {
        line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
        reason: format!("this should be {what}"),
    }
}

/// Follows a path as far as it exists, and returns the missing rest.
fn deepest<'n, 'p>(root: &'n Node, path: &'p [&'p str]) -> (&'n Node, &'p [&'p str]) {
    let mut node = root;
    for (index, key) in path.iter().enumerate() {
        match node.member(key) {
            Some(member) => node = &member.value,
            None => return (node, &path[index..]),
        }
    }
    (node, &[])
}

/// The line ends and indentation of a file.
struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    fn of(text: &str, root: &Node) -> Style {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = match &root.kind {
            Kind::Object(members) => members.first().map(|member| member.start),
            Kind::Array(_) | Kind::Scalar(_) => None,
        };
        let unit = first
            .map(|start| blank_before(text, start))
            .and_then(|blank| blank.rsplit_once('\n'))
            .map(|(_, indent)| indent.to_owned())
            .filter(|indent| !indent.is_empty());
        Style {
            newline,
            unit: unit.unwrap_or_else(|| "  ".to_owned()),
        }
    }
}

/// The whitespace right before a position.
fn blank_before(text: &str, at: usize) -> &str {
    let before = &text[..at];
    &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..]
}

/// The indentation of the line that contains a position.
fn indent_at(text: &str, at: usize) -> String {
    let line = &text[text[..at].rfind('\n').map_or(0, |newline| newline + 1)..at];
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    line[..blank].to_owned()
}

fn replaced(text: &str, span: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..span.start], &text[span.end..])
}

/// Inserts an item at the end of an object (under its key) or an array.
fn insert(
    text: &str,
    into: &Node,
    items: &[Range<usize>],
    key: Option<&str>,
    value: &Value,
    style: &Style,
) -> String {
    let key = key.map_or(String::new(), |key| format!("{}: ", Value::from(key)));
    let on_lines = |indent: &str| {
        let value = pretty(value, indent, style);
        format!("{}{indent}{key}{value}", style.newline)
    };
    let (at, new) = match items.last() {
        Some(last) => {
            let blank = blank_before(text, last.start);
            let new = match blank.rsplit_once('\n') {
                Some((_, indent)) => format!(",{}", on_lines(indent)),
                None => format!(", {key}{value}"),
            };
            (last.end, new)
        }
        None => {
            let inner = &text[into.span.start + 1..into.span.end - 1];
            let new = match inner.rsplit_once('\n') {
                Some((_, outer)) => {
                    let blank = outer.len() - outer.trim_start_matches([' ', '\t']).len();
                    on_lines(&format!("{}{}", &outer[..blank], style.unit))
                }
                None => format!("{key}{value}"),
            };
            (into.span.start + 1, new)
        }
    };
    replaced(text, at..at, &new)
}

/// Removes one of the items between brackets, with its comma.
fn take_out(text: &str, open: usize, items: &[Range<usize>], index: usize) -> String {
    let item = &items[index];
    let start = match index {
        0 => open + 1,
        _ => items[index - 1].end,
    };
    // The text before the item goes with it, except a comment.
    let gap = &text[start..item.start];
    let kept = match gap.contains('/') {
        true => gap.replacen(',', "", usize::from(index > 0)),
        false => String::new(),
    };
    if index == 0 && items.len() > 1 {
        let gap = format!("{gap}{}", &text[items[1].start..]);
        return format!("{}{gap}", &text[..start]);
    }
    let mut end = item.end;
    if items.len() == 1 {
        // A comma after the only item would be left alone.
        let rest = text[end..].trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.starts_with(',') {
            end = text.len() - rest.len() + 1;
        }
    }
    format!("{}{kept}{}", &text[..start], &text[end..])
}

/// Formats a value over several lines. The first line is already indented.
fn pretty(value: &Value, indent: &str, style: &Style) -> String {
    let inner = format!("{indent}{}", style.unit);
    let (open, close, items): (_, _, Vec<String>) = match value {
        Value::Object(members) if !members.is_empty() => {
            let item = |(key, value): (&String, &Value)| {
                format!(
                    "{}: {}",
                    Value::from(key.as_str()),
                    pretty(value, &inner, style)
                )
            };
            ('{', '}', members.iter().map(item).collect())
        }
        // Short lists, such as arguments, stay on one line.
        Value::Array(values) if values.iter().any(Value::is_object) => {
            let item = |value: &Value| pretty(value, &inner, style);
            ('[', ']', values.iter().map(item).collect())
        }
        other => return other.to_string(),
    };
    let newline = style.newline;
    let items = items.join(&format!(",{newline}{inner}"));
    format!("{open}{newline}{inner}{items}{newline}{indent}{close}")
}
