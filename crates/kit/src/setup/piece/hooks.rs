//! The hooks in a JSON file.

use super::Before;
use crate::setup::json::{self, Bad, Dialect, Node};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ours {
    No,
    /// Together with a hook that is not ours.
    Part,
    Whole,
}

/// Whether a hook, or each hook of a group, calls `outlive hook`.
fn calls_us(value: &Value) -> Ours {
    let one = |value: &Value| value["command"].as_str().is_some_and(is_call);
    match value["hooks"].as_array() {
        Some(hooks) if !hooks.is_empty() && hooks.iter().all(one) => Ours::Whole,
        Some(hooks) if hooks.iter().any(one) => Ours::Part,
        None if one(value) => Ours::Whole,
        _ => Ours::No,
    }
}

fn is_call(command: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    match words.as_slice() {
        [program, verb, ..] => verb == "hook" && program.rsplit('/').next() == Some("outlive"),
        _ => false,
    }
}

/// What stands in the place of our hook.
enum Found {
    Nothing,
    /// What setup wants, or a group in which the user keeps our hook beside another one.
    Fine,
    /// What setup wrote before.
    Old(usize),
    /// A hook that calls `outlive hook` in another way.
    Foreign(usize),
}

fn look(elements: &[Node], value: &Value, old: Option<&Value>) -> Found {
    let values: Vec<Value> = elements.iter().map(Node::value).collect();
    if values.contains(value) {
        return Found::Fine;
    }
    if let Some(index) = values.iter().position(|found| old == Some(found)) {
        return Found::Old(index);
    }
    let calls = values.iter().map(calls_us);
    match calls.enumerate().find(|(_, ours)| *ours != Ours::No) {
        None => Found::Nothing,
        Some((_, Ours::Part)) => Found::Fine,
        Some((index, _)) => Found::Foreign(index),
    }
}

pub fn foreign(root: &Node, path: &[&str], value: &Value, old: Option<&Value>) -> Option<String> {
    let elements = root.find(path)?.elements();
    match look(elements, value, old) {
        Found::Foreign(_) => Some(format!("a hook {} that calls outlive", path.join("."))),
        Found::Nothing | Found::Fine | Found::Old(_) => None,
    }
}

pub fn put(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    value: &Value,
    old: Option<&Value>,
) -> Result<String, Bad> {
    let root = json::parse(text, dialect)?;
    let elements = root.find(path).map_or(&[][..], |list| list.elements());
    match look(elements, value, old) {
        Found::Fine => Ok(text.to_owned()),
        Found::Nothing => json::push(text, dialect, path, value),
        Found::Old(index) | Found::Foreign(index) => {
            let index = index.to_string();
            let path = [path, &[index.as_str()][..]].concat();
            json::set(text, dialect, &path, value)
        }
    }
}

/// Removes the hook, and restores the one that it replaced. If the user had our hook before, alone or beside another
/// one, setup wrote nothing, and it stays.
pub(super) fn take(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    value: &Value,
    before: Option<Before<'_>>,
) -> Result<(String, Option<String>), Bad> {
    let had = before.map_or(&[][..], |list| list.node.elements());
    let replaced = match look(had, value, None) {
        Found::Fine => return Ok((text.to_owned(), None)),
        Found::Foreign(index) | Found::Old(index) => had.get(index),
        Found::Nothing => None,
    };
    let replaced = before
        .zip(replaced)
        .map(|(before, node)| (before.bytes_of(node), node.value()));
    let text = match &replaced {
        Some((bytes, hook)) => put_back(text, dialect, path, value, (bytes, hook))?,
        None => text.to_owned(),
    };
    let mut text = json::remove_elements(&text, dialect, path, |found| found == value)?;
    // If the user has added a hook beside ours, that one stays.
    let own = value["hooks"].as_array().cloned().unwrap_or_default();
    for index in 0..values(&text, dialect, path)?.len() {
        let index = index.to_string();
        let path = [path, &[index.as_str(), "hooks"][..]].concat();
        text = json::remove_elements(&text, dialect, &path, |hook| own.contains(hook))?;
    }
    let left = values(&text, dialect, path)?;
    if let Some((_, replaced)) = replaced.filter(|(_, replaced)| !left.contains(replaced)) {
        text = json::push(&text, dialect, path, &replaced)?;
    }
    let had: Vec<Value> = had.iter().map(Node::value).collect();
    let is_changed = |found: &Value| calls_us(found) != Ours::No && !had.contains(found);
    let stays = left
        .iter()
        .any(is_changed)
        .then(|| format!("a hook {}", path.join(".")));
    Ok((text, stays))
}

fn values(text: &str, dialect: Dialect, path: &[&str]) -> Result<Vec<Value>, Bad> {
    let root = json::parse(text, dialect)?;
    let list = root.find(path).map_or(&[][..], |list| list.elements());
    Ok(list.iter().map(Node::value).collect())
}

/// Writes the bytes of the hook that ours replaced back into its place, unless that hook is there again already.
fn put_back(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    value: &Value,
    (bytes, replaced): (&str, &Value),
) -> Result<String, Bad> {
    let found = values(text, dialect, path)?;
    match found.iter().position(|found| found == value) {
        Some(index) if !found.contains(replaced) => {
            let index = index.to_string();
            let path = [path, &[index.as_str()][..]].concat();
            json::restore(text, dialect, &path, bytes)
        }
        _ => Ok(text.to_owned()),
    }
}
