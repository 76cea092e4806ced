//! The MCP entry in a JSON file.

use super::Before;
use crate::setup::json::{self, Bad, Dialect, Node};
use serde_json::Value;

/// A key whose list may get more words: the names of variables that the agent passes on.
const GROWS: &str = "env_vars";

/// Whether an entry has every key of another, with the same value. It may have more.
pub fn covers(entry: &Value, other: &Value) -> bool {
    let (Some(entry), Some(other)) = (entry.as_object(), other.as_object()) else {
        return entry == other;
    };
    other.iter().all(|(key, wanted)| match entry.get(key) {
        Some(found) if key == GROWS => holds_words(found, wanted),
        Some(found) => found == wanted,
        None => false,
    })
}

fn holds_words(list: &Value, other: &Value) -> bool {
    let words = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let list = words(list);
    words(other).iter().all(|word| list.contains(word))
}

/// The keys of an entry that an update removes, because setup wrote them and no longer does.
pub fn outdated(entry: &Value, value: &Value, old: Option<&Value>) -> Vec<String> {
    let old = old.and_then(Value::as_object).into_iter().flatten();
    old.filter(|(key, old)| value.get(key).is_none() && entry.get(key) == Some(old))
        .map(|(key, _)| key.clone())
        .collect()
}

/// Says what stands at the path, if that is neither what setup wants nor what it wrote.
pub fn foreign(root: &Node, path: &[&str], value: &Value, old: Option<&Value>) -> Option<String> {
    let found = root.find(path)?.value();
    let is_known = covers(&found, value) || old.is_some_and(|old| covers(&found, old));
    (!is_known).then(|| describe(&path.join("."), &found))
}

/// An entry in one line. Its other keys may hold secrets.
pub fn describe(place: &str, entry: &Value) -> String {
    let url = entry.get("url").or_else(|| entry.get("httpUrl"));
    match entry.get("command").or(url) {
        Some(start) => format!("an entry {place} that starts {start}"),
        None => format!("an entry {place}"),
    }
}

/// The user's other settings in an entry of ours stay.
pub fn put(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    value: &Value,
    old: Option<&Value>,
) -> Result<String, Bad> {
    let root = json::parse(text, dialect)?;
    let Some(found) = root.find(path).map(Node::value) else {
        return json::set(text, dialect, path, value);
    };
    let is_ours = old.is_some_and(|old| covers(&found, old)) || covers(&found, value);
    let Some(members) = value.as_object().filter(|_| is_ours) else {
        return json::set(text, dialect, path, value);
    };
    let at = |key: &str| -> Vec<String> {
        let keys = path.iter().copied().chain([key]);
        keys.map(str::to_owned).collect()
    };
    let text = outdated(&found, value, old)
        .iter()
        .try_fold(text.to_owned(), |text, key| {
            let path = at(key);
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            json::remove(&text, dialect, &path)
        })?;
    members.iter().try_fold(text, |text, (key, value)| {
        let path = at(key);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match found.get(key) {
            Some(found) if key == GROWS && holds_words(found, value) => Ok(text),
            _ => json::set(&text, dialect, &path, value),
        }
    })
}

/// Removes the entry, or restores the one that it replaced. If the user had such an entry before, setup did not write
/// it, and it stays as it is now.
pub(super) fn take(
    text: &str,
    dialect: Dialect,
    path: &[&str],
    value: &Value,
    before: Option<Before<'_>>,
) -> Result<(String, Option<String>), Bad> {
    let root = json::parse(text, dialect)?;
    let Some(found) = root.find(path).map(Node::value) else {
        return Ok((text.to_owned(), None));
    };
    let had = before.map(|before| before.node.value());
    if had.is_some_and(|had| had == found || covers(&had, value)) {
        return Ok((text.to_owned(), None));
    }
    if !covers(&found, value) {
        let stays = format!("the entry {}", path.join("."));
        return Ok((text.to_owned(), Some(stays)));
    }
    let left = match before {
        Some(before) => json::restore(text, dialect, path, before.bytes_of(before.node))?,
        None => json::remove(text, dialect, path)?,
    };
    Ok((left, None))
}
