//! What may be left on a disk after a power loss.
//!
//! A file or directory (a **node**) is known by its inode. What it held after each step that changed
//! anything is recorded, and when it was synced. If the power fails after a step, each node by itself
//! has one of the contents that it had since its last sync. A node that was never synced may also be empty.
//! The entries of a directory are its content: a file whose directory was not synced may be missing, and a
//! name may lead to a file that is still empty.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One file or directory, for as long as it lives.
pub type Node = String;

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    Directory(BTreeMap<String, Node>),
    /// The name of the blob that holds its bytes, and how many of those are there.
    File {
        blob: String,
        bytes: u64,
    },
    /// Is what it is from the moment it has a name.
    Link(String),
    Fifo,
    Socket,
}

/// All nodes and what they hold.
pub type Tree = BTreeMap<Node, Content>;

/// Everything that happened, a step after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub root: Node,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// What is there after it.
    pub tree: Tree,
    /// What was synced by it.
    pub synced: BTreeSet<Node>,
    /// Whoever waited has been told by now.
    pub is_told: bool,
    /// The job's command has begun to run by now.
    pub has_run: bool,
    /// The system call, for people.
    pub call: String,
}

impl Content {
    /// All empty files are the same.
    pub fn empty_file() -> Content {
        Content::File {
            blob: String::new(),
            bytes: 0,
        }
    }

    /// What it is born with, before anything in it is synced.
    fn newborn(&self) -> Content {
        match self {
            Content::Directory(_) => Content::Directory(BTreeMap::new()),
            Content::File { .. } => Content::empty_file(),
            other => other.clone(),
        }
    }

    /// Half of what was added to it, if it has grown.
    fn torn(&self, before: &Content) -> Option<Content> {
        match (self, before) {
            (Content::File { blob, bytes }, Content::File { bytes: old, .. }) if bytes > old => {
                Some(Content::File {
                    blob: blob.clone(),
                    bytes: old + (bytes - old) / 2,
                })
            }
            _ => None,
        }
    }
}

impl Recording {
    /// What a node may hold after a step, each once and the newest first: what it held since it was last
    /// synced, or was born with, and half of what this step added to it. One whose name is gone may
    /// still be there, if that of its directory is not synced.
    fn may_hold(&self, node: &Node, step: usize) -> Vec<Content> {
        let mut held: Vec<Content> = Vec::new();
        let mut add = |content: Content| {
            if !held.contains(&content) {
                held.push(content);
            }
        };
        let mut oldest = None;
        for before in self.steps[..=step].iter().rev() {
            let content = before.tree.get(node);
            content.cloned().into_iter().for_each(&mut add);
            if before.synced.contains(node) {
                return held;
            }
            if oldest.is_none() {
                self.torn(node, step).into_iter().for_each(&mut add);
            }
            oldest = content.or(oldest);
        }
        oldest.map(Content::newborn).into_iter().for_each(&mut add);
        held
    }

    /// Half of what a step added to a node.
    fn torn(&self, node: &Node, step: usize) -> Option<Content> {
        let before = &self.steps[step.checked_sub(1)?].tree;
        self.steps[step].tree.get(node)?.torn(before.get(node)?)
    }
}

/// A name by which a node is known, for people.
fn name_of(tree: &Tree, node: &Node) -> String {
    let is_named = |content: &Content| match content {
        Content::Directory(entries) => entries
            .iter()
            .find(|(_, there)| *there == node)
            .map(|(name, _)| name.clone()),
        _ => None,
    };
    let parent = tree.iter().find_map(|(parent, content)| {
        let name = is_named(content)?;
        Some((parent.clone(), name))
    });
    match parent {
        Some((parent, name)) => format!("{}/{name}", name_of(tree, &parent)),
        None => String::new(),
    }
}

impl Recording {
    pub fn to_json(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(Step::to_json).collect();
        json!({ "root": self.root, "steps": steps })
    }

    pub fn from_json(value: &Value) -> Option<Recording> {
        let steps = value["steps"].as_array()?.iter();
        Some(Recording {
            root: value["root"].as_str()?.to_owned(),
            steps: steps.map(Step::from_json).collect::<Option<_>>()?,
        })
    }
}

impl Step {
    fn to_json(&self) -> Value {
        let tree: serde_json::Map<String, Value> = self
            .tree
            .iter()
            .map(|(node, content)| (node.clone(), content.to_json()))
            .collect();
        json!({ "tree": tree, "synced": self.synced, "told": self.is_told, "run": self.has_run, "call": self.call })
    }

    fn from_json(value: &Value) -> Option<Step> {
        let read =
            |(node, content): (&String, &Value)| Some((node.clone(), Content::from_json(content)?));
        let word = |node: &Value| node.as_str().map(str::to_owned);
        let synced = value["synced"].as_array()?.iter().map(word);
        Some(Step {
            tree: value["tree"]
                .as_object()?
                .iter()
                .map(read)
                .collect::<Option<_>>()?,
            synced: synced.collect::<Option<_>>()?,
            is_told: value["told"] == true,
            has_run: value["run"] == true,
            call: word(&value["call"])?,
        })
    }
}

impl Content {
    fn to_json(&self) -> Value {
        match self {
            Content::Directory(entries) => json!({ "directory": entries }),
            Content::File { blob, bytes } => json!({ "file": blob, "bytes": bytes }),
            Content::Link(target) => json!({ "link": target }),
            Content::Fifo => json!("fifo"),
            Content::Socket => json!("socket"),
        }
    }

    fn from_json(value: &Value) -> Option<Content> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        if let Some(entries) = value["directory"].as_object() {
            let read = |(name, node): (&String, &Value)| Some((name.clone(), word(node)?));
            return entries
                .iter()
                .map(read)
                .collect::<Option<_>>()
                .map(Content::Directory);
        }
        if let (Some(blob), Some(bytes)) = (word(&value["file"]), value["bytes"].as_u64()) {
            return Some(Content::File { blob, bytes });
        }
        match (word(&value["link"]), value.as_str()) {
            (Some(target), _) => Some(Content::Link(target)),
            (None, Some("fifo")) => Some(Content::Fifo),
            (None, Some("socket")) => Some(Content::Socket),
            _ => None,
        }
    }
}

mod ways;
pub use ways::{Crash, Ways};

#[cfg(test)]
mod tests;
