//! One thing that setup adds to a file and can remove again.
//!
//! The journal of setup holds the pieces that it wrote, so a piece is plain data and says the whole of what was
//! written. Three questions follow from that: is this in the file, is something else in its place, and what is
//! the file without it.

mod hooks;
mod server;
mod written;

pub use server::{covers, describe, outdated};

use super::json::{self, Bad, Dialect, Kind};
use super::{block, toml};
use crate::agent::Agent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The initial text of a new JSON file.
const EMPTY: &str = "{\n}\n";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Json {
        dialect: Dialect,
        parts: Vec<Part>,
    },
    /// The MCP entry in a TOML file: its keys and their values.
    TomlServer(Value),
    /// The instructions for an agent.
    Instructions(Instructions),
    /// A file that belongs to Outlive completely.
    Own(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    pub agent: Agent,
    pub text: String,
}

impl Instructions {
    pub fn of(agent: Agent) -> Instructions {
        Instructions {
            agent,
            text: block::instructions().to_owned(),
        }
    }
}

/// Something in a JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The MCP entry.
    Server { path: Vec<String>, value: Value },
    /// A hook in the list of an event's hooks.
    Hook { path: Vec<String>, value: Value },
    /// A word in a list of words, such as a list of permissions.
    Word { path: Vec<String>, word: String },
    /// A member that the file must have, whoever adds it.
    Needed { key: String, value: Value },
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|key| (*key).to_owned()).collect()
}

impl Part {
    pub fn server(path: &[&str], value: Value) -> Part {
        let path = owned(path);
        Part::Server { path, value }
    }

    pub fn hook(path: &[&str], value: Value) -> Part {
        let path = owned(path);
        Part::Hook { path, value }
    }

    pub fn word(path: &[&str], word: &str) -> Part {
        Part::Word {
            path: owned(path),
            word: word.to_owned(),
        }
    }

    pub fn needed(key: &str, value: Value) -> Part {
        Part::Needed {
            key: key.to_owned(),
            value,
        }
    }

    /// The keys that lead to it.
    fn path(&self) -> Vec<&str> {
        match self {
            Part::Server { path, .. } | Part::Hook { path, .. } | Part::Word { path, .. } => {
                path.iter().map(String::as_str).collect()
            }
            Part::Needed { key, .. } => vec![key],
        }
    }

    /// Whether both have the same place in the file.
    fn has_place_of(&self, other: &Part) -> bool {
        let is_same_word = match (self, other) {
            (Part::Word { word: one, .. }, Part::Word { word: two, .. }) => one == two,
            _ => true,
        };
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.path() == other.path()
            && is_same_word
    }

    fn is_needed(&self, key: &str, value: &Value) -> bool {
        matches!(self, Part::Needed { key: own, value: one } if *own == key && one == value)
    }
}

/// What is left of a text without a piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// `None` if the file goes with the piece.
    pub text: Option<String>,
    /// What was changed since and therefore stays.
    pub stays: Vec<String>,
}

impl Piece {
    /// The text with this piece. What else stands in its place is replaced, so ask [`Piece::foreign`] first.
    pub fn put(&self, text: &str) -> Result<String, Bad> {
        self.update(text, None, None)
    }

    /// The text with this piece in the place of `old`, which setup wrote there before. `original` is the text
    /// before setup first wrote to the file.
    pub fn update(
        &self,
        text: &str,
        old: Option<&Piece>,
        original: Option<&str>,
    ) -> Result<String, Bad> {
        match self {
            Piece::Json { dialect, parts } => {
                let start = if text.trim().is_empty() { EMPTY } else { text };
                let gone = parts_of(old)
                    .iter()
                    .filter(|old| !parts.iter().any(|part| part.has_place_of(old)));
                let text = gone.rev().try_fold(start.to_owned(), |text, old| {
                    Ok(take_part(&text, *dialect, old, original)?.0)
                })?;
                parts.iter().try_fold(text, |text, part| {
                    put_part(&text, *dialect, part, part_in_place(old, part))
                })
            }
            Piece::TomlServer(value) => toml::put(text, value, toml_of(old)),
            Piece::Instructions(own) => Ok(block::put(text, own)),
            Piece::Own(own) => Ok(own.clone()),
        }
    }

    /// What stands in the place of this piece and was not written by setup.
    pub fn foreign(&self, text: &str, old: Option<&Piece>) -> Result<Vec<String>, Bad> {
        match self {
            Piece::Json { .. } if text.trim().is_empty() => Ok(Vec::new()),
            Piece::Json { dialect, parts } => {
                let root = json::parse(text, *dialect)?;
                let foreign = parts.iter().filter_map(|part| {
                    let old = part_in_place(old, part);
                    match part {
                        Part::Server { value, .. } => {
                            server::foreign(&root, &part.path(), value, value_of(old))
                        }
                        Part::Hook { value, .. } => {
                            hooks::foreign(&root, &part.path(), value, value_of(old))
                        }
                        Part::Word { .. } | Part::Needed { .. } => None,
                    }
                });
                Ok(foreign.collect())
            }
            Piece::TomlServer(value) => toml::foreign(text, value, toml_of(old)),
            Piece::Instructions(own) => {
                let old = match old {
                    Some(Piece::Instructions(old)) => Some(old.text.as_str()),
                    _ => None,
                };
                Ok(block::foreign(text, own, old))
            }
            Piece::Own(own) => {
                let is_known = text == own
                    || matches!(old, Some(Piece::Own(old)) if old == text)
                    || text.trim().is_empty();
                Ok(match is_known {
                    true => Vec::new(),
                    false => vec!["a file of the same name".to_owned()],
                })
            }
        }
    }

    /// The text without this piece. `original` is the text before setup first wrote to the file, if there was one.
    /// Another agent may have written the same into the same place: `others` have written that too.
    pub fn take(&self, text: &str, original: Option<&str>, others: &[&Piece]) -> Result<Left, Bad> {
        let (left, stays) = match self {
            Piece::Json { dialect, parts } => {
                let is_shared = |part: &Part| {
                    let mut others = others.iter().flat_map(|other| parts_of(Some(*other)));
                    others.any(|other| other.has_place_of(part))
                };
                let mut own = parts.iter().rev().filter(|part| !is_shared(part));
                let start = (text.to_owned(), Vec::new());
                own.try_fold(start, |(text, mut stays), part| {
                    let (text, stayed) = take_part(&text, *dialect, part, original)?;
                    stays.extend(stayed);
                    Ok((text, stays))
                })?
            }
            Piece::TomlServer(value) => toml::take(text, value, original)?,
            Piece::Instructions(own) => block::take(text, own),
            Piece::Own(own) if own == text => (original.unwrap_or_default().to_owned(), Vec::new()),
            Piece::Own(_) => (text.to_owned(), vec!["the file".to_owned()]),
        };
        let is_empty = match self {
            Piece::Json { .. } if left.trim().is_empty() => true,
            Piece::Json { dialect, parts } => {
                let left = json::parse(&left, *dialect)?.value();
                let needed = |(key, value): (&String, &Value)| {
                    parts.iter().any(|part| part.is_needed(key, value))
                };
                left.as_object().is_some_and(|left| left.iter().all(needed))
            }
            Piece::TomlServer(_) | Piece::Instructions(_) | Piece::Own(_) => left.trim().is_empty(),
        };
        Ok(Left {
            text: (original.is_some() || !is_empty).then_some(left),
            stays,
        })
    }

    /// Whether the text contains all of this piece, unchanged.
    pub fn is_in(&self, text: &str) -> Result<bool, Bad> {
        let mut held = self.held(text)?;
        Ok(held.iter().all(|part| *part) && held.pop().is_some())
    }

    /// Whether the text contains something of this piece, unchanged.
    pub fn is_partly_in(&self, text: &str) -> Result<bool, Bad> {
        Ok(self.held(text)?.contains(&true))
    }

    /// For each part of the piece, whether the text contains it.
    fn held(&self, text: &str) -> Result<Vec<bool>, Bad> {
        let one = |is_in| Ok(vec![is_in]);
        match self {
            Piece::Json { .. } if text.trim().is_empty() => one(false),
            Piece::Json { dialect, parts } => {
                let root = json::parse(text, *dialect)?;
                let known = parts
                    .iter()
                    .filter(|part| !matches!(part, Part::Needed { .. }));
                let is_in = |part: &Part| {
                    let found = root.find(&part.path());
                    match part {
                        Part::Server { value, .. } => {
                            found.is_some_and(|node| covers(&node.value(), value))
                        }
                        Part::Hook { value, .. } => found.is_some_and(|list| {
                            list.elements().iter().any(|node| node.value() == *value)
                        }),
                        Part::Word { word, .. } => found.is_some_and(|list| has_word(list, word)),
                        Part::Needed { .. } => true,
                    }
                };
                Ok(known.map(is_in).collect())
            }
            Piece::TomlServer(value) => one(toml::has(text, value)?),
            Piece::Instructions(own) => one(block::has(text, own)),
            Piece::Own(own) => one(text == own),
        }
    }
}

/// What was in the place of a part before setup first wrote to the file.
#[derive(Clone, Copy)]
struct Before<'t> {
    /// The text of the whole file then.
    text: &'t str,
    node: &'t json::Node,
}

impl<'t> Before<'t> {
    /// The bytes of a value within that text.
    fn bytes_of(&self, node: &json::Node) -> &'t str {
        &self.text[node.span.clone()]
    }
}

fn parts_of(piece: Option<&Piece>) -> &[Part] {
    match piece {
        Some(Piece::Json { parts, .. }) => parts,
        _ => &[],
    }
}

fn part_in_place<'p>(piece: Option<&'p Piece>, part: &Part) -> Option<&'p Part> {
    parts_of(piece).iter().find(|old| old.has_place_of(part))
}

fn toml_of(piece: Option<&Piece>) -> Option<&Value> {
    match piece {
        Some(Piece::TomlServer(value)) => Some(value),
        _ => None,
    }
}

fn value_of(part: Option<&Part>) -> Option<&Value> {
    match part? {
        Part::Server { value, .. } | Part::Hook { value, .. } | Part::Needed { value, .. } => {
            Some(value)
        }
        Part::Word { .. } => None,
    }
}

fn has_word(list: &json::Node, word: &str) -> bool {
    list.elements().iter().any(|node| node.value() == *word)
}

fn put_part(text: &str, dialect: Dialect, part: &Part, old: Option<&Part>) -> Result<String, Bad> {
    let path = part.path();
    let root = json::parse(text, dialect)?;
    match part {
        Part::Server { value, .. } => server::put(text, dialect, &path, value, value_of(old)),
        Part::Hook { value, .. } => hooks::put(text, dialect, &path, value, value_of(old)),
        Part::Word { word, .. } => match root.find(&path) {
            Some(list) if has_word(list, word) => Ok(text.to_owned()),
            _ => json::push(text, dialect, &path, &Value::from(word.as_str())),
        },
        Part::Needed { value, .. } => match root.find(&path) {
            Some(_) => Ok(text.to_owned()),
            None => json::set(text, dialect, &path, value),
        },
    }
}

/// The text without the part, and what stays because it was changed.
fn take_part(
    text: &str,
    dialect: Dialect,
    part: &Part,
    original: Option<&str>,
) -> Result<(String, Option<String>), Bad> {
    if text.trim().is_empty() {
        return Ok((text.to_owned(), None));
    }
    let path = part.path();
    let original = original
        .filter(|text| !text.trim().is_empty())
        .and_then(|text| Some((text, json::parse(text, dialect).ok()?)));
    let before = original.as_ref().and_then(|(text, root)| {
        let node = root.find(&path)?;
        Some(Before { text, node })
    });
    let (depth, (left, stays)) = match part {
        Part::Server { value, .. } => (
            path.len().saturating_sub(1),
            server::take(text, dialect, &path, value, before)?,
        ),
        Part::Hook { value, .. } => (
            path.len(),
            hooks::take(text, dialect, &path, value, before)?,
        ),
        Part::Word { word, .. } => {
            let was_there = before.is_some_and(|list| has_word(list.node, word));
            let is_ours = |value: &Value| !was_there && *value == **word;
            let left = json::remove_elements(text, dialect, &path, is_ours)?;
            (path.len(), (left, None))
        }
        // Other tools may need it too.
        Part::Needed { .. } => return Ok((text.to_owned(), None)),
    };
    // Objects and arrays that were made for the piece go with it, from the inside out.
    let left = (1..=depth).rev().try_fold(left, |text, depth| {
        let path = &path[..depth];
        let was_there = original
            .as_ref()
            .is_some_and(|(_, root)| root.find(path).is_some());
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
    })?;
    Ok((left, stays))
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where and stop"
)]
#[path = "piece/tests.rs"]
mod tests;
