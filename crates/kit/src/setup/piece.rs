//! One thing that setup adds to a file and can remove again.

use super::json::{self, Bad, Dialect, Kind};
use super::{block, toml};
use crate::agent::Agent;
use serde_json::Value;

/// The initial text of a new JSON file.
const EMPTY: &str = "{\n}\n";

#[derive(Clone, Debug)]
pub enum Piece {
    Json {
        dialect: Dialect,
        parts: Vec<Part>,
    },
    /// The MCP entry in a TOML file, with the program that it starts.
    TomlServer(String),
    /// The instructions for this agent.
    Instructions(Agent),
    /// A file that belongs to Outlive completely.
    Own(String),
}

/// Something in a JSON file.
#[derive(Clone, Debug)]
pub enum Part {
    /// The MCP entry.
    Server {
        path: Vec<&'static str>,
        value: Value,
    },
    /// A hook in the list of an event's hooks.
    Hook {
        path: Vec<&'static str>,
        value: Value,
    },
    /// A member that the file must have, whoever adds it.
    Needed { key: &'static str, value: Value },
}

impl Part {
    fn is_needed(&self, key: &str, value: &Value) -> bool {
        matches!(self, Part::Needed { key: own, value: one } if *own == key && one == value)
    }
}

impl Piece {
    pub fn put(&self, text: &str) -> Result<String, Bad> {
        match self {
            Piece::Json { dialect, parts } => {
                let start = if text.trim().is_empty() { EMPTY } else { text };
                parts.iter().try_fold(start.to_owned(), |text, part| {
                    put_part(&text, *dialect, part)
                })
            }
            Piece::TomlServer(program) => toml::put(text, program),
            Piece::Instructions(agent) => Ok(block::put(text, *agent)),
            Piece::Own(own) => Ok(own.clone()),
        }
    }

    /// The text without this piece. `original` is the text before it was added, if there was a file.
    pub fn take(&self, text: &str, original: Option<&str>) -> Result<Option<String>, Bad> {
        if self.put(original.unwrap_or_default()).as_deref() == Ok(text) {
            return Ok(original.map(str::to_owned));
        }
        let left = match self {
            Piece::Json { dialect, parts } => {
                parts.iter().rev().try_fold(text.to_owned(), |text, part| {
                    take_part(&text, *dialect, part, original)
                })?
            }
            Piece::TomlServer(_) => toml::take(text)?,
            Piece::Instructions(agent) => block::take(text, *agent),
            Piece::Own(_) => original.unwrap_or_default().to_owned(),
        };
        let is_empty = match self {
            Piece::Json { dialect, parts } => {
                let left = json::parse(&left, *dialect)?.value();
                let needed = |(key, value): (&String, &Value)| {
                    parts.iter().any(|part| part.is_needed(key, value))
                };
                left.as_object().is_some_and(|left| left.iter().all(needed))
            }
            Piece::TomlServer(_) | Piece::Instructions(_) | Piece::Own(_) => left.trim().is_empty(),
        };
        Ok((original.is_some() || !is_empty).then_some(left))
    }

    /// Whether the text contains anything of ours.
    pub fn is_in(&self, text: &str) -> Result<bool, Bad> {
        match self {
            Piece::Json { dialect, parts } if !text.trim().is_empty() => {
                let root = json::parse(text, *dialect)?;
                Ok(parts.iter().any(|part| match part {
                    Part::Server { path, .. } => root.find(path).is_some(),
                    Part::Hook { path, .. } => root.find(path).is_some_and(|list| {
                        list.elements()
                            .iter()
                            .any(|node| is_ours(&node.value()) != Ours::No)
                    }),
                    Part::Needed { .. } => false,
                }))
            }
            Piece::Json { .. } => Ok(false),
            Piece::TomlServer(_) => toml::has(text),
            Piece::Instructions(_) => Ok(block::has(text)),
            Piece::Own(own) => Ok(text.lines().next() == own.lines().next()),
        }
    }
}

fn put_part(text: &str, dialect: Dialect, part: &Part) -> Result<String, Bad> {
    match part {
        Part::Server { path, value } => put_server(text, dialect, path, value),
        Part::Needed { key, value } => match json::parse(text, dialect)?.find(&[*key]) {
            Some(_) => Ok(text.to_owned()),
            None => json::set(text, dialect, &[*key], value),
        },
        Part::Hook { path, value } => {
            let root = json::parse(text, dialect)?;
            let elements = root.find(path).map_or(&[][..], |list| list.elements());
            let found = elements
                .iter()
                .map(|node| node.value())
                .enumerate()
                .find(|(_, value)| is_ours(value) != Ours::No);
            match found {
                None => json::push(text, dialect, path, value),
                // The entry of an earlier release.
                Some((index, old)) if is_ours(&old) == Ours::Whole && old != *value => {
                    let index = index.to_string();
                    let path = [path, &[index.as_str()][..]].concat();
                    json::set(text, dialect, &path, value)
                }
                Some(_) => Ok(text.to_owned()),
            }
        }
    }
}

/// If there is an entry already, the user's other settings in it stay.
fn put_server(text: &str, dialect: Dialect, path: &[&str], value: &Value) -> Result<String, Bad> {
    let root = json::parse(text, dialect)?;
    let is_there = root
        .find(path)
        .is_some_and(|node| matches!(node.kind, Kind::Object(_)));
    if !is_there {
        return json::set(text, dialect, path, value);
    }
    ["command", "args"]
        .iter()
        .try_fold(text.to_owned(), |text, key| match value.get(*key) {
            Some(value) => json::set(&text, dialect, &[path, &[*key][..]].concat(), value),
            None => Ok(text),
        })
}

fn take_part(
    text: &str,
    dialect: Dialect,
    part: &Part,
    original: Option<&str>,
) -> Result<String, Bad> {
    let (path, left) = match part {
        Part::Server { path, .. } => {
            let (_, outer) = path.split_last().unwrap_or((&"", &[]));
            (outer, json::remove(text, dialect, path)?)
        }
        Part::Hook { path, .. } => (&path[..], take_hook(text, dialect, path)?),
        // Other tools may need it too.
        Part::Needed { .. } => return Ok(text.to_owned()),
    };
    // Objects and arrays that were made for the piece go with it, from the inside out.
    let original = original.and_then(|text| json::parse(text, dialect).ok());
    (1..=path.len()).rev().try_fold(left, |text, depth| {
        let path = &path[..depth];
        let was_there = original
            .as_ref()
            .is_some_and(|root| root.find(path).is_some());
        let root = json::parse(&text, dialect)?;
        let is_empty = root.find(path).is_some_and(|node| match &node.kind {
            Kind::Object(members) => members.is_empty(),
            Kind::Array(elements) => elements.is_empty(),
            Kind::Scalar(_) => false,
        });
        match is_empty && !was_there {
            true => json::remove(&text, dialect, path),
            false => Ok(text),
        }
    })
}

fn take_hook(text: &str, dialect: Dialect, path: &[&str]) -> Result<String, Bad> {
    let mut text =
        json::remove_elements(text, dialect, path, |value| is_ours(value) == Ours::Whole)?;
    let count = json::parse(&text, dialect)?
        .find(path)
        .map_or(0, |list| list.elements().len());
    // If the user has added a hook beside ours, that one stays.
    for index in 0..count {
        let index = index.to_string();
        let path = [path, &[index.as_str(), "hooks"][..]].concat();
        text = json::remove_elements(&text, dialect, &path, |hook| is_ours(hook) == Ours::Whole)?;
    }
    Ok(text)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ours {
    No,
    /// Together with a hook that is not ours.
    Part,
    Whole,
}

/// Whether a hook, or each hook of a group, calls `outlive hook`.
fn is_ours(value: &Value) -> Ours {
    let one = |value: &Value| value["command"].as_str().is_some_and(calls_us);
    match value["hooks"].as_array() {
        Some(hooks) if !hooks.is_empty() && hooks.iter().all(one) => Ours::Whole,
        Some(hooks) if hooks.iter().any(one) => Ours::Part,
        None if one(value) => Ours::Whole,
        _ => Ours::No,
    }
}

fn calls_us(command: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    match words.as_slice() {
        [program, verb, ..] => verb == "hook" && program.rsplit('/').next() == Some("outlive"),
        _ => false,
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
#[path = "piece/tests.rs"]
mod tests;
